import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { neverAborted } from '#core';
import { createManualClock } from '#helpers/clock';
import { caller as ada } from '#helpers/principal';
import { encodeError, encodeResult, rawText } from '#jsonrpc';
import {
  type ServerConnection,
  type ForwardedRequest,
  InputRequired,
  createElicitation,
} from '#upstream';

const question = {
  message: 'Really?',
  requestedSchema: { type: 'object', properties: {} },
};

const connection: ServerConnection = {
  callerOf: () => undefined,
  ended: neverAborted,
  notify() {},
  onlyCaller: () => 'none',
  onlyOwner: () => 'none',
};

/** Creates an elicitation to a client that answers by `reply`, and records the messages to the client. */
function open(reply: (asked: ForwardedRequest, id: string) => void = () => {}) {
  const clock = createManualClock();
  const withdrawn: string[] = [];
  const asked: string[] = [];
  const elicitation = createElicitation({
    clock,
    key: Buffer.alloc(32),
    source: {},
    connection: () => connection,
    withdraw: bytes => void withdrawn.push(bytes.toString()),
  });
  const caller = {
    owner: {
      serverRequest(forwarded: ForwardedRequest) {
        const { bytes, id } = forwarded.request;
        asked.push(bytes.toString());
        reply(forwarded, rawText(bytes, id));
      },
      notification() {},
      hasOpenRequest: false,
    },
    principal: ada,
    responseStream: { send() {} },
  };
  const ask = (
    params: Record<string, unknown>,
    { isModern = false, signal = new AbortController().signal, principal = ada } = {},
  ) =>
    elicitation.ask(
      { caller: { ...caller, principal }, method: 'tools/call', params, isModern, signal },
      question,
    );
  return { ask, asked, withdrawn, clock };
}

describe('a client with a session', () => {
  test('gets a form, and its answer is returned', async () => {
    const { ask, asked } = open(({ answer }, id) =>
      answer(encodeResult(id, '{"action":"accept","content":{"sure":true}}')),
    );
    assert.deepEqual(await ask({}), { action: 'accept', content: { sure: true } });
    assert.deepEqual(JSON.parse(asked[0] ?? ''), {
      jsonrpc: '2.0',
      id: 1,
      method: 'elicitation/create',
      params: question,
    });
  });

  test('without the method returns no answer, and any other refusal is an error', async () => {
    const cannot = open(({ answer }, id) => answer(encodeError(id, -32601, 'no such method', {})));
    assert.equal(await cannot.ask({}), undefined);
    const gone = open(({ answer }, id) => answer(encodeError(id, -32000, 'it left', {})));
    await assert.rejects(gone.ask({}), { code: 'HUB_CLIENT_GONE', message: /it left/ });
    const odd = open(({ answer }, id) => answer(encodeResult(id, '{"action":"maybe"}')));
    await assert.rejects(odd.ask({}), { code: 'HUB_REQUEST_INVALID' });
  });

  test('gets a cancellation when the call is cancelled meanwhile', async () => {
    const { ask, withdrawn } = open();
    const controller = new AbortController();
    const answer = ask({}, { signal: controller.signal });
    controller.abort(new Error('enough'));
    await assert.rejects(answer, /enough/);
    assert.deepEqual(JSON.parse(withdrawn[0] ?? ''), {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1 },
    });
  });
});

describe('a stateless client', () => {
  const capable = {
    _meta: { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } },
    name: 'remove',
    arguments: { id: 'x' },
  };
  const modern = { isModern: true };

  async function stateOf(ask: ReturnType<typeof open>['ask']): Promise<string> {
    const error: unknown = await ask(capable, modern).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof InputRequired);
    const { requestState, ...result } = error.result as Record<string, unknown>;
    assert.deepEqual(result, {
      resultType: 'input_required',
      inputRequests: {
        question: { method: 'elicitation/create', params: { mode: 'form', ...question } },
      },
    });
    assert.ok(typeof requestState === 'string');
    return requestState;
  }
  const answered = (requestState: string, action = 'accept') => ({
    ...capable,
    requestState,
    inputResponses: { question: { action } },
  });

  test('gets the form as the result of its request, and repeats it with the answer', async () => {
    const { ask } = open();
    assert.deepEqual(await ask(answered(await stateOf(ask)), modern), {
      action: 'accept',
      content: {},
    });
    const declined = await ask(answered(await stateOf(ask), 'decline'), modern);
    assert.equal(declined?.action, 'decline');
  });

  test('gets the form again if it answers something else', async () => {
    const { ask } = open();
    const requestState = await stateOf(ask);
    await assert.rejects(ask({ ...capable, requestState }, modern), InputRequired);
  });

  test.each([
    [{}],
    [{ _meta: { 'io.modelcontextprotocol/clientCapabilities': {} } }],
    [{ _meta: { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } } } }],
  ])('without support for forms gets none: %j', async params => {
    assert.equal(await open().ask(params, modern), undefined);
  });

  test('cannot use an answer twice, late, for other arguments or of another principal', async () => {
    const { ask, clock } = open();
    const used = answered(await stateOf(ask));
    await ask(used, modern);
    const rejected = (params: Record<string, unknown>, message: RegExp, more = {}) =>
      assert.rejects(ask(params, { ...modern, ...more }), { code: 'HUB_STATE_INVALID', message });
    await rejected(used, /was used already/);
    const other = answered(await stateOf(ask));
    const foreign = /not issued by the hub for this request/;
    await rejected({ ...other, arguments: { id: 'y' } }, foreign);
    await rejected(other, foreign, { principal: { ...ada, name: 'eve' } });
    await rejected({ ...other, requestState: `${other.requestState.slice(0, -1)}!` }, foreign);
    clock.advance(600_001);
    await rejected(other, /has expired/);
  });
});
