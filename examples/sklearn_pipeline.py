"""Learners are scikit-learn estimators: in a pipeline, in a grid search, with its metrics. Needs scikit-learn."""

from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer

import noregret as nr


def main():
    X, y = load_digits(return_X_y=True)
    train, test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

    pipeline = make_pipeline(MinMaxScaler(), Normalizer(), nr.PA1(average=True, epochs=3, shuffle=True))
    grid = GridSearchCV(pipeline, {"pa1__C": [0.01, 0.1, 1.0], "pa1__epochs": [1, 3]}, cv=3)
    grid.fit(train, y_train)
    print("best:", grid.best_params_, "cross-validated accuracy", round(grid.best_score_, 3))
    print("accuracy on the rest:", round(grid.score(test, y_test), 3))

    # The last step of a fitted pipeline goes on learning from a stream.
    *scalers, model = (step for _, step in grid.best_estimator_.steps)
    for row, label in zip(test[:100], y_test[:100], strict=True):
        row = row.reshape(1, -1)
        for scaler in scalers:
            row = scaler.transform(row)
        model.partial_fit(row, [label])
    print("examples seen:", model.n_seen_)


if __name__ == "__main__":
    main()
