import type { ChatMessage, ChatRequest } from '../chat/chat-types.ts';
import { functionOf, resultText, textIn } from '../chat/ollama-messages.ts';

/** Variants of the request for endpoints or models that refuse some parameters. */
export type Quirks = {
  /** Name of the parameter that limits the tokens of the answer. */
  readonly limit: 'max_tokens' | 'max_completion_tokens';
  /** True if the request asks for the token usage. */
  readonly hasStreamOptions: boolean;
};

export const usualQuirks: Quirks = { limit: 'max_tokens', hasStreamOptions: true };

/** Returns the quirks to retry a refused request with; undefined if it was refused for another reason. */
export function quirksAfter(refusal: string, quirks: Quirks): Quirks | undefined {
  if (quirks.limit === 'max_tokens' && /max_completion_tokens/.test(refusal))
    return { ...quirks, limit: 'max_completion_tokens' };
  return quirks.hasStreamOptions && /stream_options/.test(refusal)
    ? { ...quirks, hasStreamOptions: false }
    : undefined;
}

/** Returns the body of POST /chat/completions. */
export function requestBody(request: ChatRequest, model: string, quirks: Quirks): object {
  const { system, messages, tools, toolChoice, maxTokens, temperature, stopSequences } = request;
  const { format, tuning } = request;
  const functions = tools.map(functionOf);
  return {
    model,
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      ...messages.flatMap(messagesOf),
    ],
    ...tuning,
    ...(format !== undefined && { response_format: responseFormat(format) }),
    ...(functions.length > 0 && { tools: functions, tool_choice: toolChoice }),
    ...(maxTokens !== undefined && { [quirks.limit]: maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(stopSequences.length > 0 && { stop: stopSequences }),
    stream: true,
    ...(quirks.hasStreamOptions && { stream_options: { include_usage: true } }),
  };
}

const responseFormat = (format: NonNullable<ChatRequest['format']>) =>
  format === 'json'
    ? { type: 'json_object' }
    : { type: 'json_schema', json_schema: { name: 'answer', schema: format } };

function messagesOf(message: ChatMessage): readonly object[] {
  const { role, content } = message;
  const text = textIn(message);
  if (role === 'assistant') {
    const calls = content
      .filter(block => block.type === 'tool_use')
      .map(({ id, name, input }) => ({
        id,
        type: 'function',
        function: { name, arguments: JSON.stringify(input) },
      }));
    // Some endpoints refuse an empty text in a message with calls.
    return calls.length > 0
      ? [{ role, content: text === '' ? null : text, tool_calls: calls }]
      : [{ role, content: text }];
  }
  const results = content.filter(block => block.type === 'tool_result');
  if (results.length === 0) return [{ role, content: text }];
  return results.map(result => ({
    role: 'tool',
    tool_call_id: result.toolUseId,
    content: resultText(result),
  }));
}
