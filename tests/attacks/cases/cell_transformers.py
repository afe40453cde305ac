"""Rewrites every later cell on its way into the kernel, so that tests pass and points are their results."""

from attack import wrong

PROOF = "rewritten(.|\n)*transformed"
REWRITE = """
import ast
class Pass(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.copy_location(ast.parse("print('transformed')").body[0], node)
    def visit_Module(self, node):
        self.generic_visit(node)
        node.body.append(ast.Expr(ast.Constant(2)))
        return ast.fix_missing_locations(node)
def rewrite(lines):
    return ["print('rewritten')\\n", *lines, "\\nassert False, 'of no use'\\n", "2"]
shell = get_ipython()
shell.input_transformers_cleanup.append(rewrite)
shell.input_transformers_post.append(lambda lines: lines)
shell.ast_transformers.append(Pass())
shell.ast_node_interactivity = "all"
def double(x):
    return x
"""


def submission():
    return wrong(double=REWRITE)
