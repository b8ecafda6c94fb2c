"""What is measured of a learner on its way: figures, the area under its ROC curve, drift, the features it uses."""
