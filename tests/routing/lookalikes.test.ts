import assert from 'node:assert/strict';
import { test } from 'vitest';
import { membersOf } from '#jsonrpc';
import { lookalikeIn } from '../../hub/routing/call.ts';
import { readRequest } from './steps/scripted-call.ts';

function found(method: string, params: string): string | undefined {
  const request = readRequest(`{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`);
  const members = membersOf(request.bytes, request.params) ?? new Map();
  return lookalikeIn(request, members, membersOf(request.bytes, members.get('_meta')));
}

test.each([
  ['tools/call', '{"name":"a","Name":"b"}', 'params.Name'],
  ['prompts/get', '{"Arguments":{}}', 'params.Arguments'],
  ['tasks/get', '{"taskid":"a"}', 'params.taskid'],
  ['resources/read', '{"uri":"a","_META":{}}', 'params._META'],
  ['tools/call', '{"_meta":{"Progresstoken":1}}', 'params._meta.Progresstoken'],
  ['completion/complete', '{"ref":{"URI":"a"}}', 'params.ref.URI'],
])('%s with %s is refused', (method, params, member) => {
  assert.match(String(found(method, params)), new RegExp(`^"${member}" is not "`));
});

test.each([
  ['tools/call', '{"name":"a","arguments":{"Name":1},"_meta":{"Name":1,"progressToken":1}}'],
  ['tools/call', '{"name":"a","other":1}'],
  ['vendor/method', '{"Name":"a"}'],
  ['resources/read', '{"uri":"a","_meta":"no object"}'],
])('%s with %s is accepted', (method, params) => {
  assert.equal(found(method, params), undefined);
});
