import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type Code, HubError } from '#core';
import {
  RpcError,
  encodeCall,
  encodeError,
  encodeResult,
  errorAnswer,
  malformedAnswer,
  readMessage,
} from '#jsonrpc';

/** Codes that clients see. They are part of the hub's interface. */
const pinned = [
  ['HUB_REQUEST_INVALID', -32602],
  ['HUB_NAME_UNKNOWN', -32602],
  ['HUB_INTERNAL', -32603],
  ['HUB_CALL_TIMEOUT', -32001],
  ['HUB_SERVER_DOWN', -32003],
  ['HUB_SERVER_STOPPED', -32004],
  ['HUB_SERVER_BUSY', -32005],
  ['HUB_LISTEN_REFUSED', -32006],
  ['HUB_LINE_TOO_LONG', -32007],
  ['HUB_CALL_CANCELLED', -32800],
] as const satisfies readonly (readonly [Code, number])[];

describe('the JSON-RPC code of', () => {
  for (const [code, rpcCode] of pinned)
    test(`${code} is ${rpcCode}`, () => {
      const error = new HubError(code, 'Sorry.', { data: { server: 'files' } });
      assert.equal(
        errorAnswer('"a"', error).toString(),
        `{"jsonrpc":"2.0","id":"a","error":{"code":${rpcCode},"message":"Sorry.","data":{"code":"${code}","server":"files"}}}`,
      );
    });

  test('an RpcError is its own code', () => {
    const error = new RpcError(-32601, 'HUB_REQUEST_INVALID', 'no such method: x');
    assert.equal(
      errorAnswer('1', error).toString(),
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method: x","data":{"code":"HUB_REQUEST_INVALID"}}}',
    );
  });

  test('any other error is internal, without its stack', () => {
    const answer = errorAnswer('1', new TypeError('x is not a function')).toString();
    assert.match(answer, /"code":-32603/);
    assert.match(answer, /"data":\{"code":"HUB_INTERNAL"\}/);
    assert.ok(!answer.includes('at '));
  });

  test('invalid JSON is -32700, and JSON that is not a message -32600', () => {
    const codeOf = (text: string) => {
      const message = readMessage(Buffer.from(text));
      assert.ok(message.kind === 'malformed');
      return malformedAnswer(message).toString();
    };
    assert.equal(
      codeOf('{'),
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the bytes are not JSON","data":{"code":"HUB_REQUEST_INVALID"}}}',
    );
    assert.match(codeOf('{}'), /"code":-32600/);
  });
});

test('every encoded message can be parsed', () => {
  const kindOf = (bytes: Buffer) => readMessage(bytes).kind;
  assert.equal(kindOf(encodeCall(1, 'x', { a: 'line\nbreak' })), 'request');
  assert.equal(kindOf(encodeCall(undefined, 'x')), 'notification');
  assert.equal(kindOf(encodeResult('"a"', '{}')), 'answer');
  assert.equal(kindOf(encodeError('null', -1, 'line\nbreak')), 'answer');
  assert.equal(encodeCall(undefined, 'x').toString(), '{"jsonrpc":"2.0","method":"x"}');
});
