import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createLookalikes } from '#jsonrpc';

const lookalike = createLookalikes(['params', 'taskId', '_meta', 'Name']);

test.each([
  ['Params', 'params'],
  ['PARAMS', 'params'],
  ['param\u017f', 'params'],
  ['tas\u212aid', 'taskId'],
  ['taskid', 'taskId'],
  ['_Meta', '_meta'],
  ['name', 'Name'],
  ['params', undefined],
  ['Name', undefined],
  ['param', undefined],
  ['params ', undefined],
  ['', undefined],
])('%j could be read as %j', (name, meant) => {
  assert.equal(lookalike(name), meant);
});
