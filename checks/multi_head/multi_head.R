# Lesson 5 in base R. A module is a list of matrices there, and a function that takes it first.

# cell: setup
softmax <- function(scores) {  # lesson 1's, of each row of a matrix
  exponentials <- exp(scores - apply(scores, 1, max))
  exponentials / rowSums(exponentials)
}
linear <- function(x, weight) x %*% t(weight)  # T x E times E x D -> T x D
AttentionHead <- function(weights, query, key = query, value = key, mask = NULL) {  # lesson 4's
  projected_value <- linear(value, weights$value)  # T_k x D
  scores <- linear(query, weights$query) %*% t(linear(key, weights$key)) / sqrt(nrow(weights$query))
  if (!is.null(mask)) scores[!mask] <- -Inf  # T_q x T_k
  shares <- softmax(scores)
  if (!is.null(mask)) shares[!mask] <- 0
  list(output = shares %*% projected_value, weights = shares)
}

# cell: one-mix-measured
number <- c(Ann = 2, Bob = 6, Cid = 3, Dot = 4, Eve = 0)
mixes <- outer(0.75 * number, 0.25 * number, "+")  # payer x payee
mixes
#>      Ann  Bob  Cid  Dot  Eve
#> Ann 2.00 3.00 2.25 2.50 1.50
#> Bob 5.00 6.00 5.25 5.50 4.50
#> Cid 2.75 3.75 3.00 3.25 2.25
#> Dot 3.50 4.50 3.75 4.00 3.00
#> Eve 0.50 1.50 0.75 1.00 0.00
which(mixes == 3, arr.ind = TRUE)  # who paid whom where the mix is 3
#>     row col
#> Ann   1   2
#> Cid   3   3
#> Dot   4   5
length(unique(c(mixes)))
#> [1] 19

# cell: two-mixes-measured
weights <- rbind(c(0.75, 0.25), c(0.25, 0.75))  # H x T_k: a row for each head
found <- drop(weights %*% number[c("Ann", "Bob")])  # H numbers: a mix for each head
unmix <- solve(weights)  # 2 x H
found
#> [1] 3 5
unmix
#>      [,1] [,2]
#> [1,]  1.5 -0.5
#> [2,] -0.5  1.5
drop(unmix %*% found)
#> [1] 2 6

# cell: MultiHeadAttention
# weights: list(heads = list of heads, output), the output's E x E
MultiHeadAttention <- function(weights, query, key = query, value = key, mask = NULL) {
  results <- lapply(weights$heads, AttentionHead, query = query, key = key, value = value, mask = mask)
  joined <- do.call(cbind, lapply(results, `[[`, "output"))  # T_q x (H * D) = T_q x E
  average <- Reduce(`+`, lapply(results, `[[`, "weights")) / length(results)  # T_q x T_k
  list(output = linear(joined, weights$output), weights = average)
}

# cell: traced
x <- rbind(c(1, 10, 100, 1000), c(3, 30, 300, 3000))  # T x E
values <- list(x[, 1:2], x[, 3:4])  # 1. project: H times T x D
weights <- list(rbind(c(1, 0), c(0.5, 0.5)), rbind(c(0.5, 0.5), c(0, 1)))  # H times T x T
found <- Map(`%*%`, weights, values)  # 2. attend: H times T x D
joined <- do.call(cbind, found)  # 3. side by side: T x E
w_output <- rbind(c(1, 0, 1, 0), c(0, 1, 0, 1), c(1, 0, -1, 0), c(0, 1, 0, -1))  # E x E
output <- joined %*% t(w_output)  # 4. project: T x E
joined
#>      [,1] [,2] [,3] [,4]
#> [1,]    1   10  200 2000
#> [2,]    2   20  300 3000
output
#>      [,1] [,2] [,3]  [,4]
#> [1,]  201 2010 -199 -1990
#> [2,]  302 3020 -298 -2980

# cell: count-measured
count <- function(embed_dim) 4 * embed_dim^2 + 4 * embed_dim  # with biases, for any number of heads
count(768)  # attention in one layer of GPT-2 small
#> [1] 2362368
count(12288)  # and in one of GPT-3
#> [1] 604028928
