import assert from 'node:assert/strict';
import { test } from 'vitest';
import { canonicalOf } from '../../hub/enhance/canonical.ts';
import { sentencesOf } from '../../hub/enhance/terms.ts';

const read = (text: string) =>
  sentencesOf(canonicalOf(text).tokens).map(
    ({ intent, lexemes }) => `${intent}: ${lexemes.map(lexeme => lexeme.stem).join(' ')}`,
  );

test.for([
  ['How do I exit vim?', ['howto: =exit vim']],
  ['Tell me why it hangs', ['why: it =hang']],
  ['Tell me the best way to sort it', ['howto: =sort it']],
  ['Tell me the way to school', [': the =way to school~']],
  ['In Python, how do I sort it?', ['howto: in python , =sort it']],
  ['What does the parser do?', ['explain: the parser~']],
  ['What does the parser do with it?', ['explain: the parser~ with it']],
  ['Write a regex', ['write: a regex']],
  ['Build the app', [': =create the =app']],
  ['Is it real?', ['whether: is it real~']],
  ['Can you fix this?', [': =fix this']],
  ['Can you use await here?', ['whether can: can you =use await~ here']],
  ['Make the query faster', [': speed the query~']],
  ['Convert json to yaml', [': changeinto json > yaml']],
  ['How does tcp differ from udp?', ['what: difference tcp and udp']],
  ['How should rows be stored?', ['howto: =store =row']],
  ["Why isn't the job running?", ['why: is not the job~ =run']],
  ['Fix it. Then stop', [': =fix it', ': then~ =stop']],
] as const)('of %j the intent and the terms are %j', ([text, expected]) =>
  assert.deepEqual(read(text), expected),
);
