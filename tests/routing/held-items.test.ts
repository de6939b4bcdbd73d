import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { configOf } from '#helpers/hub';
import { heldKey } from '#servers';
import { refuseHeld, withoutHeldInstructions } from '../../hub/routing/held-items.ts';
import { createScriptedServer } from './scripted-server.ts';
import { callWith } from './steps/scripted-call.ts';

const config = configOf({ name: 'calc' });
const holding = (...keys: readonly string[]) => ({ config, held: new Set(keys) });
const held = { code: 'HUB_DEFINITION_HELD', data: { server: 'calc' } };

function refuse(method: string, name: string, server: ReturnType<typeof holding>, own?: string) {
  const call = callWith(method, { name, arguments: {} });
  const span = call.params.get('name') ?? assert.fail();
  const edits = own === undefined ? [] : [{ span, text: JSON.stringify(own) }];
  refuseHeld({ call, edits }, server);
}

describe('a call', () => {
  test.each([
    ['tools/call', 'tool'],
    ['prompts/get', 'prompt'],
  ] as const)('of %s is refused if the %s is held back, and only then', (method, kind) => {
    assert.throws(() => refuse(method, 'add', holding(heldKey(kind, 'add'))), held);
    refuse(method, 'sub', holding(heldKey(kind, 'add')));
    refuse(method, 'add', holding(heldKey(kind === 'tool' ? 'prompt' : 'tool', 'add')));
    refuse('completion/complete', 'add', holding(heldKey(kind, 'add')));
  });

  test("is refused by the server's own name of the item", () => {
    assert.throws(
      () => refuse('tools/call', 'calc_add', holding(heldKey('tool', 'add')), 'add'),
      held,
    );
    refuse('tools/call', 'add', holding(heldKey('tool', 'add')), 'plus');
  });

  test('is refused however its name is spelled in JSON', () => {
    const call = callWith('tools/call', '{"name":"\\u0061dd"}');
    assert.throws(() => refuseHeld({ call, edits: [] }, holding(heldKey('tool', 'add'))), held);
  });
});

describe('the initialize result', () => {
  const answer = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"a":1,"instructions":"Be bad."}}');

  test('has no instructions that are held back, and is otherwise the same', () => {
    const instructed = heldKey('instructions', '');
    assert.deepEqual(
      withoutHeldInstructions(answer, { held: new Set([instructed]) }).toString(),
      answer.toString().replace('Be bad.', ''),
    );
    for (const keys of [undefined, new Set([heldKey('tool', 'add')])])
      assert.equal(withoutHeldInstructions(answer, { held: keys }), answer);
  });

  test('has only the instructions that the hub compared, if some may be held back', () => {
    const { running } = createScriptedServer({ name: 'calc' });
    const said = (instructions: string | undefined) => ({
      mayHold: true,
      running: { ...running, serverInfo: { ...running.serverInfo, instructions } },
    });
    assert.equal(withoutHeldInstructions(answer, said('Be bad.')), answer);
    for (const before of ['Be good.', undefined])
      assert.match(withoutHeldInstructions(answer, said(before)).toString(), /"instructions":""/);
    const twice = Buffer.from(answer.toString().replace('"a":1', '"a":1,"a":2'));
    assert.throws(() => withoutHeldInstructions(twice, said('Be good.')), {
      code: 'HUB_SERVER_PROTOCOL',
    });
  });
});
