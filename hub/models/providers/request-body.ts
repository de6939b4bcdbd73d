import type { ChatMessage, ChatRequest } from '../chat/chat-types.ts';
import { functionOf } from '../chat/ollama-messages.ts';

/** Parameters that some endpoints or models refuse, and what takes their place. */
export type Quirks = {
  /** The name of the limit of tokens. */
  readonly limit: 'max_tokens' | 'max_completion_tokens';
  /** Whether usage is asked for. */
  readonly hasStreamOptions: boolean;
};

export const usualQuirks: Quirks = { limit: 'max_tokens', hasStreamOptions: true };

/** The quirks to try after a refused request; undefined if the refusal is about something else. */
export function quirksAfter(refusal: string, quirks: Quirks): Quirks | undefined {
  if (quirks.limit === 'max_tokens' && /max_completion_tokens/.test(refusal))
    return { ...quirks, limit: 'max_completion_tokens' };
  return quirks.hasStreamOptions && /stream_options/.test(refusal)
    ? { ...quirks, hasStreamOptions: false }
    : undefined;
}

/** The body of POST /chat/completions. */
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

function messagesOf({ role, content }: ChatMessage): readonly object[] {
  const text = content.flatMap(block => (block.type === 'text' ? [block.text] : [])).join('\n\n');
  if (role === 'assistant') {
    const calls = content.flatMap(block =>
      block.type === 'tool_use'
        ? [
            {
              id: block.id,
              type: 'function',
              function: { name: block.name, arguments: JSON.stringify(block.input) },
            },
          ]
        : [],
    );
    // Some endpoints refuse an empty text beside calls.
    return calls.length > 0
      ? [{ role, content: text === '' ? null : text, tool_calls: calls }]
      : [{ role, content: text }];
  }
  const results = content.filter(block => block.type === 'tool_result');
  if (results.length === 0) return [{ role, content: text }];
  return results.map(({ toolUseId, text: said, isError }) => ({
    role: 'tool',
    tool_call_id: toolUseId,
    content: isError ? `Error: ${said}` : said,
  }));
}
