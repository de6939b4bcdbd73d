import assert from 'node:assert/strict';
import { test } from 'vitest';
import { unwrap } from '../../../hub/enhance/checks/wrapper.ts';

const bare = 'List the rivers of Europe.';

test.each([
  bare,
  `"${bare}"`,
  `“${bare}”`,
  `«${bare}»`,
  `\`\`\`\n${bare}\n\`\`\``,
  `\`\`\`markdown\n${bare}\n\`\`\``,
  `<prompt>\n${bare}\n</prompt>`,
  `Sure! Here is the improved prompt:\n\n${bare}`,
  `Certainly! Here's a clearer version:\n"${bare}"`,
  `**Rewritten prompt:**\n\n\`\`\`text\n${bare}\n\`\`\``,
  `Prompt: ${bare}`,
  `Improved prompt: "${bare}"`,
  `Natürlich! Hier ist der verbesserte Prompt:\n\n${bare}`,
  `${bare}\n\nLet me know if you want to change it.`,
])('the prompt is extracted from the wrapper %j', text => {
  assert.equal(unwrap(text, 'rivers of europe'), bare);
});

test.each([
  ['"a" or "b"?', 'a or b'],
  ['`a` before `b`', 'a before b'],
  ['```js\na()\n```', 'what does a() do'],
  ['"To be or not to be"', '"to be or not to be"'],
  [
    'Here is the code of the new version:\nlet a = 1',
    'here is the code of the new version:\nlet a',
  ],
  ['Here are two versions of the prompt:\nOne.\nTwo.', 'one'],
  ['Prompt: name it', 'prompt: name'],
  ['""', 'x'],
])('%j is not a wrapper, for the prompt %j', (text, prompt) => {
  assert.equal(unwrap(text, prompt), text);
});
