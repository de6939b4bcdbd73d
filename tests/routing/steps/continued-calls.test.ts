import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { hubReply } from '../../../hub/routing/call.ts';
import { createContinuedCalls } from '../../../hub/routing/steps/continued-calls.ts';
import { callWith } from './scripted-call.ts';

const confirmed = {
  caller: 'client:cursor',
  client: 'cursor',
  server: 'files',
  entry: 'e',
  tool: 'files_write',
  ownTool: 'write',
  hash: 'h',
};

test.each([
  ['as its server wrote it', String.raw`"a\/b\u003d"`, String.raw`"a\/b\u003d"`, true],
  ['as another library writes it', String.raw`"a\/b\u003d"`, '"a/b="', true],
  ['with another state', '"a"', '"b"', false],
])('whether a state is recognized that is returned %s', (_, issued, returned, isContinued) => {
  const continued = createContinuedCalls(createManualClock());
  const result = `{"resultType":"input_required","requestState":${issued}}`;
  const reply = hubReply(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`));
  continued.note(confirmed, reply);
  const call = callWith('tools/call', `{"name":"files_write","requestState":${returned}}`);
  assert.equal(continued.take(call, confirmed), isContinued);
});
