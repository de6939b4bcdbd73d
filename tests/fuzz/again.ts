import { isObject } from '#core';

/**
 * Answers an `input_required` result like a client of the stateless revision: returns the same call with the request
 * state and responses to the input requests. Returns undefined for any other result.
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
