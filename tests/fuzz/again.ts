import { isObject } from '#core';

/**
 * What a client of the stateless revision sends where its call was answered by a question, with an answer to that:
 * the same call once more, with what the hub goes on by. Undefined where it was answered by something else.
 */
export function askAgain(request: Buffer, answer: Buffer, secret: string): Buffer | undefined {
  const { result }: { result?: unknown } = JSON.parse(answer.toString());
  if (!isObject(result) || result['resultType'] !== 'input_required') return undefined;
  const { requestState, inputRequests } = result;
  const names = isObject(inputRequests) ? Object.keys(inputRequests) : [];
  const said = { role: 'assistant', model: 'm', content: { type: 'text', text: secret } };
  const inputResponses = Object.fromEntries(names.map(name => [name, said]));
  const { id, params, ...call } = JSON.parse(request.toString());
  const more = { ...params, requestState, inputResponses };
  return Buffer.from(JSON.stringify({ ...call, id: `${id} again`, params: more }));
}
