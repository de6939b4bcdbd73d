import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { itemMethodsOfOne } from '../../../hub/routing/methods/one-server.ts';
import { createScriptedNeeds } from '../scripted-needs.ts';
import { createScriptedServer } from '../scripted-server.ts';
import { callWith, sessionOf } from '../steps/scripted-call.ts';

describe('a list of a server that passes', () => {
  /**
   * Returns what the client receives of a result of `tools/list` if the tool `bad` is withheld for a changed
   * definition.
   */
  function listed(result: string): string {
    const there = createScriptedServer({ name: 'own' });
    const server = {
      ...there.server,
      mayHold: true,
      holds: (_: unknown, name: string) => name === 'bad',
    };
    const { needs } = createScriptedNeeds([{ server }]);
    const call = callWith('tools/list', {}, { session: sessionOf({ endpoint: server }) });
    const [, method] = itemMethodsOfOne.find(([name]) => name === 'tools/list') ?? assert.fail();
    const { restored } = method(call, needs);
    const answer = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`);
    return restored?.(answer).toString() ?? assert.fail('it is not read');
  }

  test('omits items that are held back', () => {
    const tools = '[{"name":"bad"},{"name":"good"}]';
    assert.match(listed(`{"tools":${tools}}`), /"result":\{"tools":\[\{"name":"good"\}\]\}/);
  });

  test.each([
    ['a member that stands twice', '{"tools":[{"name":"bad"}],"a":1,"a":2}'],
    ['the list under a name that some clients take for it', '{"Tools":[{"name":"bad"}]}'],
    ['another list under such a name', '{"tools":[],"Tools":[{"name":"bad"}]}'],
    ['no object', '[{"name":"bad"}]'],
  ])('is not passed through with %s', (_, result) => {
    assert.throws(() => listed(result), {
      code: 'HUB_SERVER_PROTOCOL',
      message: 'own answered tools/list without "tools", or with a member that stands twice',
    });
  });
});
