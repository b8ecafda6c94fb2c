"""The engine room: words, examples, weights, states, the compiler and the learner's verbs."""
