import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createAbsences } from '../../hub/models/absence.ts';

const progress = { status: 'pulling 2af3b81862c6', digest: 'sha256:2af3' };
const command = 'Get it with "ollama pull m" or POST /ollama/models/m/pull';

test('a missing model that the hub does not pull has the pull command as its remedy', () => {
  const absences = createAbsences();
  assert.deepEqual(absences.of('m'), { isPulled: false, remedy: command });
  assert.match(absences.of('hf.co/some/model:q4').remedy, /models\/hf\.co%2Fsome%2Fmodel:q4\/pull/);
});

test.each([
  [undefined, undefined, 'It is being pulled'],
  [2_019_393_189, undefined, 'It is being pulled'],
  [0, 0, 'It is being pulled'],
  [2_019_393_189, 1_009_696_594, 'It is being pulled: 49 % of 2 GB'],
  [274_290_656, 274_290_656, 'It is being pulled: 100 % of 275 MB'],
])(
  'the remedy for a layer of %s bytes of which %s are pulled is "%s"',
  (totalBytes, completedBytes, remedy) => {
    const absences = createAbsences();
    absences.pulling('m:latest', { ...progress, totalBytes, completedBytes });
    assert.deepEqual(absences.of('library/m'), { isPulled: true, remedy });
    absences.pulled('m:latest');
    assert.equal(absences.of('m').remedy, command);
  },
);

test('a missing model that the hub will pull needs no command', () => {
  const absences = createAbsences();
  absences.plan(['m', 'n:1']);
  assert.deepEqual(absences.of('m:latest'), { isPulled: true, remedy: 'The hub will pull it' });
  absences.pulling('m:latest');
  assert.equal(absences.of('m').remedy, 'It is being pulled');
  absences.plan(['n:1']);
  absences.pulled('m:latest');
  assert.equal(absences.of('m').isPulled, false);
});

test('the remedy for a model that no registry has is another name, until it is pulled again', () => {
  const absences = createAbsences();
  absences.unknown('m:latest');
  const remedy = 'No registry has it: correct its name';
  assert.deepEqual(absences.of('m'), { isPulled: false, remedy });
  absences.pulling('m:latest');
  absences.pulled('m:latest');
  assert.equal(absences.of('m').remedy, command);
  for (let number = 0; number <= 1_000; number++) absences.unknown(`m:${number}`);
  assert.equal(absences.of('m:0').isPulled, false);
  assert.notEqual(absences.of('m:0').remedy, remedy);
  assert.equal(absences.of('m:1000').remedy, remedy);
});
