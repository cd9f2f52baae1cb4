"""Speaks to a running suite with the public `openai` package; one argument names the part to run."""

import json
import sys

import openai

client = openai.OpenAI(max_retries=0, timeout=60)
MODEL = client.models.list().data[0].id
SUM = [{"role": "user", "content": "What is 37 + 58?"}]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Get the current weather of a city.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        },
    }
]
WEATHER = [{"role": "user", "content": "What is the weather in Paris?"}]


def whole():
    reply = client.chat.completions.create(model=MODEL, messages=SUM, temperature=0, max_tokens=200)
    choice = reply.choices[0]
    assert choice.finish_reason == "stop", reply
    assert "95" in choice.message.content, reply
    assert choice.message.role == "assistant", reply
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens, reply
    assert reply.usage.prompt_tokens_details.cached_tokens >= 0, reply


def streamed():
    expected = client.chat.completions.create(model=MODEL, messages=SUM, temperature=0, max_tokens=200)
    text, reasoning, reasons, usage, chunks = "", "", [], None, 0
    for chunk in client.chat.completions.create(
        model=MODEL,
        messages=SUM,
        temperature=0,
        max_tokens=200,
        stream=True,
        stream_options={"include_usage": True},
    ):
        chunks += 1
        if chunk.usage:
            usage = chunk.usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reasoning += getattr(choice.delta, "reasoning_content", None) or ""
            if choice.finish_reason:
                reasons.append(choice.finish_reason)
    message = expected.choices[0].message
    assert chunks > 3, chunks
    assert text == message.content, (text, message)
    assert reasoning == (getattr(message, "reasoning_content", None) or ""), (reasoning, message)
    assert reasons == ["stop"], reasons
    assert usage.completion_tokens == expected.usage.completion_tokens, (usage, expected)


def tools():
    reply = client.chat.completions.create(
        model=MODEL, messages=WEATHER, tools=TOOLS, temperature=0, max_tokens=200
    )
    choice = reply.choices[0]
    assert choice.finish_reason == "tool_calls", reply
    call = choice.message.tool_calls[0]
    assert call.function.name == "get_weather", reply
    assert json.loads(call.function.arguments) == {"city": "Paris"}, reply

    names, arguments, reasons = "", "", []
    for chunk in client.chat.completions.create(
        model=MODEL, messages=WEATHER, tools=TOOLS, temperature=0, max_tokens=200, stream=True
    ):
        for part in chunk.choices:
            for delta in part.delta.tool_calls or []:
                names += delta.function.name or ""
                arguments += delta.function.arguments or ""
            if part.finish_reason:
                reasons.append(part.finish_reason)
    assert (names, arguments) == (call.function.name, call.function.arguments), (names, arguments)
    assert reasons == ["tool_calls"], reasons

    follow_up = client.chat.completions.create(
        model=MODEL,
        messages=WEATHER
        + [
            choice.message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": call.id, "content": '{"temperature": 21, "sky": "sunny"}'},
        ],
        tools=TOOLS,
        temperature=0,
        max_tokens=200,
    )
    assert follow_up.choices[0].finish_reason == "stop", follow_up
    assert follow_up.choices[0].message.content, follow_up


def completions():
    reply = client.completions.create(
        model=MODEL, prompt="public static int sum(", temperature=0, max_tokens=16, logprobs=2
    )
    assert reply.choices[0].finish_reason == "length", reply
    assert len(reply.choices[0].logprobs.tokens) == 16, reply
    stream = client.completions.create(
        model=MODEL, prompt="public static int sum(", temperature=0, max_tokens=16, stream=True
    )
    assert "".join(chunk.choices[0].text for chunk in stream) == reply.choices[0].text, reply


def models():
    assert client.models.retrieve(MODEL).id == MODEL


def errors():
    try:
        client.chat.completions.create(model="gpt-9", messages=SUM)
        raise AssertionError("an unknown model was served")
    except openai.NotFoundError as error:
        assert error.code == "model_not_found", error
    try:
        client.chat.completions.create(model=MODEL, messages=SUM, max_tokens=0, stream=True)
        raise AssertionError("max_tokens 0 was served")
    except openai.BadRequestError as error:
        assert error.param == "max_tokens", error


PARTS = {part.__name__: part for part in (whole, streamed, tools, completions, models, errors)}
PARTS[sys.argv[1]]()
print("passed:", sys.argv[1])
