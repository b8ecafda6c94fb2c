"""What steps work on: examples, weights, covariances, sparse weights, groups, votes, kernel expansions."""
