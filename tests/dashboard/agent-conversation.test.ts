import { expect, test } from 'vitest';
import type { AgentContent, AgentMessage } from '#agents';
import { textOf } from '#dashboard';
import {
  type ShownConversation,
  conversationPart,
} from '../../hub/dashboard/agent-conversation.ts';

const message = (
  role: AgentMessage['role'],
  content: readonly AgentContent[],
  message_id = 'm1',
  at = '2026-01-02T03:04:05.000Z',
): AgentMessage => ({ message_id, role, at, content });
const text = (said: string): AgentContent => ({ type: 'text', text: said });
const use = (id: string, name = 'shell'): AgentContent => ({
  type: 'tool_use',
  id,
  name,
  input: { command: 'ls "a&b"' },
});
const result = (id: string, said: string, isError = false): AgentContent => ({
  type: 'tool_result',
  tool_use_id: id,
  text: said,
  is_error: isError,
});

const shown = (given: Partial<ShownConversation>): string =>
  textOf(
    conversationPart({
      messages: [],
      waiting: [],
      live: [],
      isWorking: false,
      error: undefined,
      ...given,
    }),
  );

test('texts of user and agent are escaped, with their times', () => {
  const page = shown({
    messages: [message('user', [text('is 1 < 2?')]), message('assistant', [text('<b>yes</b>')])],
  });
  expect(page).toContain('<div class="said">is 1 &lt; 2?</div>');
  expect(page).toContain('<div class="said">&lt;b&gt;yes&lt;/b&gt;</div>');
  expect(page).toContain('datetime="2026-01-02T03:04:05.000Z"');
});

test('a message with an invalid time is shown without one', () => {
  const page = shown({ messages: [message('user', [text('hello')], 'm1', 'soon')] });
  expect(page).toContain('hello');
  expect(page).not.toContain('<time');
});

test('tool calls are folded with input and result, and stay open when the result arrives', () => {
  const page = shown({
    messages: [
      message('user', [text('list')]),
      message('assistant', [use('c1'), use('c2')]),
      message('tool', [result('c1', 'a&b.txt')]),
    ],
  });
  expect(page).toContain('<details id="call-m1-c1" hx-preserve="true">');
  expect(page).toContain('ls \\&quot;a&amp;b\\&quot;');
  expect(page).toContain('a&amp;b.txt</pre>');
  expect(page).toMatch(
    /<details id="call-m1-c2"><summary[^>]*><code>shell<\/code> <span class="badge idle">no result/,
  );
});

test('a tool that failed is marked, and a long result is cut with its number of characters', () => {
  const page = shown({
    messages: [
      message('assistant', [use('c1')]),
      message('tool', [result('c1', 'x'.repeat(20_007), true)]),
    ],
  });
  expect(page).toContain('<span class="badge bad">failed</span>');
  expect(page).toContain('7 more characters were left out');
});

test('calls with equal or odd ids of the model have unique ids on the page', () => {
  const page = shown({ messages: [message('assistant', [use('a b"'), use('a b"')])] });
  expect(page).toContain('<details id="call-m1-a-b-">');
  expect(page).toContain('<details id="call-m1-a-b--2">');
});

test('a result belongs to the call of its own turn', () => {
  const page = shown({
    messages: [
      message('assistant', [use('c1')], 'm1'),
      message('tool', [result('c1', 'of the first')], 'm1'),
      message('assistant', [use('c1')], 'm2'),
    ],
  });
  expect(page.match(/of the first/g)).toHaveLength(1);
});

test('the turn in progress follows the message it answers, and waiting messages follow it', () => {
  const page = shown({
    messages: [message('user', [text('earlier')], 'm0')],
    waiting: [message('user', [text('now')]), message('user', [text('later')], 'm2')],
    live: [
      { kind: 'text', text: 'I look' },
      { kind: 'tool', name: 'shell', state: 'running' },
    ],
    isWorking: true,
  });
  const places = ['earlier', 'now', 'I look', '<code>shell</code>', 'later'].map(one =>
    page.indexOf(one),
  );
  expect(places).not.toContain(-1);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(page.match(/<span class="badge idle">waits<\/span>/g)).toHaveLength(1);
});

test('the reason why the newest message has no answer is shown, also in an empty conversation', () => {
  const error = 'the model stalled (HUB_MODEL_TIMEOUT)';
  expect(shown({ error })).toContain(error);
  expect(shown({ messages: [message('user', [text('a')])], error })).toContain(error);
  expect(shown({})).toContain('No message yet.');
});
