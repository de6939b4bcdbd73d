import { expect, test } from 'vitest';
import type { AgentEvent } from '#agents';
import { createEmitter } from '#core';
import { createLiveTurns } from '../../hub/dashboard/agent-turns.ts';

function open() {
  const { event, fire } = createEmitter<{ readonly agent: string; readonly event: AgentEvent }>();
  const turns = createLiveTurns(event);
  const messageId = 'm1';
  return {
    turns,
    text: (text: string, agent = 'ada') =>
      fire({ agent, event: { type: 'text', messageId, text } }),
    tool: (name: string) => fire({ agent: 'ada', event: { type: 'tool', messageId, name } }),
    result: (name: string, isError = false) =>
      fire({ agent: 'ada', event: { type: 'tool_result', messageId, name, isError } }),
    end: () => fire({ agent: 'ada', event: { type: 'outcome', messageId, status: 'answered' } }),
  };
}

test('fragments of text are joined, between the tools that were called', () => {
  const { turns, text, tool, result } = open();
  text('I ');
  text('look.');
  tool('shell');
  tool('editor');
  result('editor', true);
  text('Done');
  text('other', 'eve');
  expect(turns.of('ada')).toEqual([
    { kind: 'text', text: 'I look.' },
    { kind: 'tool', name: 'shell', state: 'running' },
    { kind: 'tool', name: 'editor', state: 'failed' },
    { kind: 'text', text: 'Done' },
  ]);
  result('shell');
  expect(turns.of('ada')[1]).toEqual({ kind: 'tool', name: 'shell', state: 'done' });
  result('shell');
  expect(turns.of('ada')).toHaveLength(4);
});

test('a turn is removed with its outcome', () => {
  const { turns, text, end } = open();
  text('I look.');
  end();
  expect(turns.of('ada')).toEqual([]);
  text('Again');
  expect(turns.of('ada')).toEqual([{ kind: 'text', text: 'Again' }]);
});

test('long texts and many steps are bounded, and the newest are kept', () => {
  const { turns, text, tool } = open();
  text('a'.repeat(2 ** 16));
  text('b');
  expect(turns.of('ada')[0]).toMatchObject({ text: `${'a'.repeat(2 ** 16 - 1)}b` });
  for (let index = 0; index < 300; index++) tool(`tool${index}`);
  expect(turns.of('ada')).toHaveLength(200);
  expect(turns.of('ada').at(-1)).toMatchObject({ name: 'tool299' });
});
