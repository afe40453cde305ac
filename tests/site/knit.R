# Rscript tests/site/knit.R FILE...   writes behind every expression of an R file what it prints,
#                                     as lines that begin with "#>", in place of those that are there.
# With --check as the first argument nothing is written: it fails and names the files that would change.

printed_by <- function(expression, variables) {
  capture.output({
    result <- withVisible(eval(expression, variables))
    if (result$visible) print(result$value)
  })
}

knitted <- function(lines) {
  lines <- lines[!startsWith(lines, "#>")]
  expressions <- parse(text = lines, keep.source = TRUE)
  variables <- new.env(parent = globalenv())
  output_behind <- vector("list", length(lines))
  for (number in seq_along(expressions)) {
    last_line <- attr(expressions, "srcref")[[number]][3]
    printed <- printed_by(expressions[[number]], variables)
    if (length(printed)) output_behind[[last_line]] <- sub(" +$", "", paste("#>", printed))
  }
  unlist(Map(c, lines, output_behind), use.names = FALSE)
}

options(width = 90)
arguments <- commandArgs(trailingOnly = TRUE)
only_check <- identical(arguments[1], "--check")
changed <- character()
for (file in setdiff(arguments, "--check")) {
  before <- readLines(file)
  after <- knitted(before)
  if (!identical(before, after)) {
    changed <- c(changed, file)
    if (!only_check) writeLines(after, file)
  }
}
if (length(changed)) cat(if (only_check) "These print something else:" else "Written:", changed, "\n")
if (only_check && length(changed)) quit(status = 1)
