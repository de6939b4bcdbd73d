import { isObject } from '#core';
import { tokenCountOf } from '../chat/chat-types.ts';
import { callInputOf } from '../chat/ollama-messages.ts';
import { createThoughtFilter } from '../thinking.ts';

/** Returns the completion in a chunk of a stream, or in a response that is not streamed; undefined if it has none. */
export function choiceIn(chunk: { readonly [key: string]: unknown }) {
  const choice: unknown = Array.isArray(chunk['choices']) ? chunk['choices'][0] : undefined;
  return isObject(choice) ? choice : undefined;
}

type CallPieces = { id: string; name: string; readonly pieces: string[] };

/** Assembles a completion from the chunks of its stream. */
export function createCompletion(progress: ((text: string) => void) | undefined) {
  const filter = createThoughtFilter();
  const calls: CallPieces[] = [];
  const byIndex = new Map<unknown, CallPieces>();
  let finishReason: string | undefined;
  let isEmpty = true;
  let hasMessage = false;
  let hasReasoning = false;
  let hasLegacyCall = false;
  let usage: { readonly [key: string]: unknown } = {};
  let length = 0;

  /** Adds the content of a message: a text or, at Mistral, also a list of parts, some of which are thoughts. */
  function addContent(content: unknown): void {
    for (const part of Array.isArray(content) ? content.filter(isObject) : [])
      if (part['type'] === 'text') addContent(part['text']);
      else hasReasoning = true;
    if (typeof content !== 'string' || content === '') return;
    length += content.length;
    const piece = filter.push(content);
    if (piece !== '') progress?.(piece);
  }

  /** Returns the tool call that a piece belongs to. Some endpoints omit the index, or send the same for all calls. */
  function callOf({ index, id }: { readonly [key: string]: unknown }): CallPieces {
    const found = index === undefined ? calls.at(-1) : byIndex.get(index);
    const isOther = typeof id === 'string' && id !== '' && found?.id !== '' && id !== found?.id;
    if (found && !isOther) return found;
    const call: CallPieces = { id: '', name: '', pieces: [] };
    calls.push(call);
    if (index !== undefined) byIndex.set(index, call);
    return call;
  }

  /** Sets the id or the name of a tool call. Some endpoints repeat them in each piece. */
  function setText(call: CallPieces, key: 'id' | 'name', text: string): void {
    if (call[key] === text) return;
    call[key] = text;
    length += text.length;
  }

  function addCall(piece: unknown): void {
    if (!isObject(piece)) return;
    const call = callOf(piece);
    const { name, arguments: given } = isObject(piece['function']) ? piece['function'] : {};
    if (typeof piece['id'] === 'string' && piece['id'] !== '') setText(call, 'id', piece['id']);
    if (typeof name === 'string' && name !== '') setText(call, 'name', name);
    const text = typeof given === 'string' ? given : isObject(given) ? JSON.stringify(given) : '';
    call.pieces.push(text);
    // A piece without text counts as one character: no other limit bounds the number of calls.
    length += text.length + 1;
  }

  return {
    /** Adds a chunk of the stream, or the complete response of an endpoint that does not stream. */
    add(chunk: { readonly [key: string]: unknown }): void {
      if (isObject(chunk['usage'])) usage = chunk['usage'];
      const choice = choiceIn(chunk);
      if (!choice) return;
      isEmpty = false;
      const delta = [choice['delta'], choice['message']].find(isObject) ?? {};
      if (delta['reasoning_content'] || delta['reasoning']) hasReasoning = true;
      addContent(delta['content']);
      const legacy = delta['function_call'];
      if (isObject(legacy) && legacy['name']) hasLegacyCall = true;
      // A `message` contains complete calls, a `delta` pieces of them.
      const isWhole = isObject(choice['message']);
      hasMessage ||= isWhole;
      if (Array.isArray(delta['tool_calls']))
        for (const [at, piece] of delta['tool_calls'].entries())
          addCall(isWhole && isObject(piece) ? { ...piece, index: at } : piece);
      if (typeof choice['finish_reason'] === 'string') finishReason = choice['finish_reason'];
    },
    /** Length of the text and the calls so far, in characters, with their ids and names. */
    get length() {
      return length;
    },
    /** True if no chunk had a part of the completion. */
    get isEmpty() {
      return isEmpty;
    },
    /** True if a chunk had a message, and not only a piece of one. */
    get hasMessage() {
      return hasMessage;
    },
    /** True if the model has sent its finish reason: the completion is complete. */
    get isWhole() {
      return finishReason !== undefined;
    },
    end() {
      const { text, hasThoughts } = filter.end();
      return {
        text,
        calls: calls.map(({ id, name, pieces }) => ({
          id,
          name,
          input: callInputOf(pieces.join('')),
        })),
        // `model_length`: the context of a model of Mistral is full.
        isCut: finishReason === 'length' || finishReason === 'model_length',
        isFiltered: finishReason === 'content_filter',
        /** True for a call in the form that preceded `tool_calls`. Some endpoints send both forms. */
        isLegacyCall: hasLegacyCall && calls.length === 0,
        isThoughtOnly: text === '' && (hasThoughts || hasReasoning),
        promptTokens: tokenCountOf(usage['prompt_tokens']),
        outputTokens: tokenCountOf(usage['completion_tokens']),
      };
    },
  };
}
