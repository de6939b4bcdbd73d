import { isObject, tryParseJson } from '#core';

/** Parses a stream of one JSON object per line: events, and the progress of builds and pulls. */
export async function* jsonLines(
  stream: NodeJS.ReadableStream,
): AsyncGenerator<{ readonly [key: string]: unknown }> {
  stream.setEncoding('utf8');
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const value = tryParseJson(line);
      if (isObject(value)) yield value;
    }
  }
  const value = tryParseJson(rest);
  if (isObject(value)) yield value;
}
