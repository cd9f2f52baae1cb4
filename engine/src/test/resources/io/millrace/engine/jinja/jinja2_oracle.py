"""Renders templates with Python's Jinja2, set up as Hugging Face transformers sets it up for chat templates.

Reads JSON lines {"template", "variables", "now"} from standard input and answers each with a JSON line:
{"text"} or {"error"}. Started by Jinja2Oracle.
"""

import json
import sys
from datetime import datetime

from jinja2 import nodes, pass_context
from jinja2.exceptions import TemplateError
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        lineno = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_support"), [], [], body).set_lineno(lineno)

    def _support(self, caller):
        return caller()


def raise_exception(message):
    raise TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


@pass_context
def finalize(context, value):
    return value


def environment(now):
    # Without the optimizer, and with a `finalize` that needs the context, constant expressions are computed like all
    # others: where they are run, and with the same rules.
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,
        finalize=finalize,
        extensions=[Generation, "jinja2.ext.loopcontrols"],
    )
    env.filters["tojson"] = tojson
    env.filters["from_json"] = json.loads
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda format: now.strftime(format)
    return env


def main():
    env = environment(datetime(2026, 1, 1))
    cache = {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            now = datetime.fromisoformat(request["now"])
            env.globals["strftime_now"] = lambda format, now=now: now.strftime(format)
            source = request["template"]
            if source not in cache:
                cache.clear()
                cache[source] = env.from_string(source)
            text = cache[source].render(**request["variables"])
            answer = {"text": text}
            json.dumps(answer, ensure_ascii=False).encode("utf-8")
        except Exception as e:  # every error of a template is an answer
            answer = {"error": type(e).__name__ + ": " + str(e).encode("utf-8", "replace").decode("utf-8")}
        sys.stdout.write(json.dumps(answer, ensure_ascii=True) + "\n")
        sys.stdout.flush()


main()
