# Lesson 2 in base R. Matrices only: torch's leading axes would be a loop around these functions.

# cell: setup
softmax <- function(scores) {  # lesson 1's, of a vector or of each row of a matrix
  rows <- if (is.matrix(scores)) scores else t(scores)
  exponentials <- exp(rows - apply(rows, 1, max))
  weights <- exponentials / rowSums(exponentials)
  if (is.matrix(scores)) weights else drop(weights)
}

# cell: louder_numbers
sharpen <- function(scores, factor) {
  softmax(factor * scores)
}

scores <- log(c(4, 2, 1))
for (factor in c(0.5, 1, 2, 12)) {
  cat("scores x", factor, "-> weights", format(round(sharpen(scores, factor), 4), nsmall = 4), "\n")
}
#> scores x 0.5 -> weights 0.4531 0.3204 0.2265
#> scores x 1 -> weights 0.5714 0.2857 0.1429
#> scores x 2 -> weights 0.7619 0.1905 0.0476
#> scores x 12 -> weights 0.9998 0.0002 0.0000

# cell: scaled_scores
scaled_scores <- function(query, key) {
  query %*% t(key) / sqrt(ncol(query))  # T_q x d_k times d_k x T_k -> T_q x T_k
}

# cell: scaled_dot_product_attention
scaled_dot_product_attention <- function(query, key = query, value = key) {
  if (ncol(query) != ncol(key)) {
    stop("query has width ", ncol(query), ", key has width ", ncol(key), ": they must be equal")
  }
  weights <- softmax(scaled_scores(query, key))  # T_q x T_k, each row sums to 1
  list(output = weights %*% value, weights = weights)
}

# cell: compare_with_torch
tokens <- matrix(
  c(0.88226926, 0.91500396, 0.38286376,
    0.95930564, 0.39044821, 0.60089535,
    0.25657249, 0.79364133, 0.94077146,
    0.13318592, 0.93459809, 0.59357965),
  nrow = 4, byrow = TRUE
)  # T x E, as in lesson 1
w_query <- matrix(c(0.86940444, 0.56771529, 0.74109405, 0.42940450, 0.88544291, 0.57390445), 3, byrow = TRUE)
w_key <- matrix(c(0.26658005, 0.62744915, 0.26963168, 0.44136357, 0.29692084, 0.83168548), 3, byrow = TRUE)
w_value <- matrix(c(0.10531491, 0.26949483, 0.35881263, 0.19936377, 0.54719156, 0.00616044), 3, byrow = TRUE)
attended <- scaled_dot_product_attention(tokens %*% w_query, tokens %*% w_key, tokens %*% w_value)
output <- attended$output
weights <- attended$weights
round(weights[3, ], 4)
#> [1] 0.2773 0.2594 0.2700 0.1933
round(output[3, ], 4)
#> [1] 0.6762 0.3120

# cell: score_variance
# Seeded, but by R's own generator: near d_k as in Python, and not the same digits.
score_variance <- function(d_k, samples = 10000, seed = 0) {
  set.seed(seed)
  query <- matrix(rnorm(samples * d_k), samples)  # samples x d_k
  key <- matrix(rnorm(samples * d_k), samples)
  # Row by row, the d_k products of each pair are added up to its score.
  var(rowSums(query * key))
}

# cell: softmax_jacobian
softmax_jacobian <- function(weights) {
  # diag(w), less the outer product of w with itself.
  diag(weights) - outer(weights, weights)  # T x T
}

# cell: twelve_numbers
# The scores of the three tokens, typed in: their projections were torch's to draw.
scores <- matrix(
  c(0.192408234, -0.008338163, 0.095902987,
    -0.225884378, 0.188387811, -0.364288211,
    0.055657361, -0.184667483, -0.055298600),
  nrow = 3, byrow = TRUE
)  # T_q x T_k
round(sharpen(scores, 1), 4)
#>        [,1]   [,2]   [,3]
#> [1,] 0.3668 0.3001 0.3331
#> [2,] 0.2955 0.4472 0.2573
#> [3,] 0.3729 0.2933 0.3338
round(sharpen(scores, 4), 4)
#>        [,1]   [,2]   [,3]
#> [1,] 0.4700 0.2105 0.3195
#> [2,] 0.1467 0.7690 0.0843
#> [3,] 0.4941 0.1889 0.3170
round(sharpen(scores, 12), 4)
#>        [,1]   [,2]   [,3]
#> [1,] 0.7122 0.0640 0.2237
#> [2,] 0.0069 0.9918 0.0013
#> [3,] 0.7576 0.0424 0.2001
