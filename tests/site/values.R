# Rscript tests/site/values.R FILE: the numbers in every variable after each section ("# cell: ID") of an R file,
# a line each: section, name, numbers row by row. What a list holds is NAME.1, NAME.2 ...

show_numbers <- function(section, name, value) {
  if (is.list(value)) {
    for (place in seq_along(value)) show_numbers(section, paste0(name, ".", place), value[[place]])
  } else if (is.numeric(value) || is.logical(value)) {
    numbers <- as.numeric(if (is.matrix(value)) t(value) else value)
    cat(section, name, paste(format(numbers, digits = 15, trim = TRUE), collapse = " "), sep = "\t")
    cat("\n")
  }
}

lines <- readLines(commandArgs(trailingOnly = TRUE)[1])
starts <- grep("^# cell: ", lines)
ends <- c(starts[-1] - 1, length(lines))
variables <- new.env(parent = globalenv())
for (place in seq_along(starts)) {
  before <- as.list(variables)
  invisible(capture.output(eval(parse(text = lines[starts[place]:ends[place]]), variables)))
  for (name in ls(variables)) {
    if (!identical(before[[name]], variables[[name]])) {
      show_numbers(sub("# cell: ", "", lines[starts[place]]), name, variables[[name]])
    }
  }
}
