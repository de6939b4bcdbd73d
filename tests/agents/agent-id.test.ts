import { expect, test } from 'vitest';
import { requireAgentId } from '../../hub/agents/agent-id.ts';

test.each(['a', '7', 'researcher', 'a-b-', '0-1', 'a'.repeat(63)])('%j is an id', id => {
  expect(requireAgentId(id)).toBe(id);
});

test.each([
  '',
  '-a',
  'A',
  'a_b',
  'a.b',
  '..',
  'a/b',
  'a\\b',
  'a b',
  'a\n',
  '\na',
  'a\0',
  'é',
  'а',
  'a'.repeat(64),
  `${'a'.repeat(63)}\n`,
])('%j is refused', id => {
  expect(() => requireAgentId(id)).toThrow(
    expect.objectContaining({
      code: 'HUB_AGENT_ID_INVALID',
      message: `agent_id: ${JSON.stringify(id)} is not an id of an agent. Write 1 to 63 lowercase letters, digits and "-", starting with a letter or digit`,
    }),
  );
});

test('a refusal quotes no more than the beginning of a long id', () => {
  expect(() => requireAgentId('x'.repeat(1_000_000))).toThrow(
    expect.objectContaining({ message: expect.stringMatching(/^.{1,250}$/) }),
  );
});
