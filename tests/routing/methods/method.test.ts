import assert from 'node:assert/strict';
import { test } from 'vitest';
import { own, serverOf } from '../../../hub/routing/methods/method.ts';
import { createScriptedNeeds } from '../scripted-needs.ts';
import { createScriptedServer } from '../scripted-server.ts';
import { callOf } from '../steps/scripted-call.ts';

const { needs } = createScriptedNeeds([]);
const { server } = createScriptedServer({ name: 'own' });
const bytes = Buffer.from('{}');

test('an answer of the hub without waiting is not a promise', async () => {
  const call = callOf('ping');
  const atOnce = own(() => bytes)(call, needs);
  assert.deepEqual(atOnce.answer?.(), { bytes, outcome: 'ok', serverMs: 0 });
  const later = own(async () => bytes)(call, needs).answer?.();
  assert.ok(later instanceof Promise);
  assert.deepEqual(await later, { bytes, outcome: 'ok', serverMs: 0 });
});

test('a method of the hub is counted for the server that it calls', () => {
  const call = callOf('initialize', {}, server);
  assert.equal(own(() => bytes, serverOf)(call, needs).server, server);
  assert.equal(own(() => bytes)(call, needs).server, undefined);
});

test('the endpoint of all servers has no server: requesting it is a bug', () => {
  assert.equal(serverOf(callOf('ping', {}, server)), server);
  assert.throws(() => serverOf(callOf('ping')), TypeError);
});
