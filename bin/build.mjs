// Whether dist/ of a clone is what scripts/build.mjs would make of its sources now. An edit must never be ignored. So it
// is not asked what is newer, which copies with old times would be: all is as it was then, or the hub runs from sources.
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** What decides what is in dist/ besides what is in hub/. */
const others = ['hub', 'package.json', 'package-lock.json', 'scripts/build.mjs'];

/** Where the build writes down what it was made of. */
export const recordOf = root => join(root, 'dist', 'build.json');

/**
 * What the build wrote down, of which `output` names the files in dist/. Undefined where a source was changed, added or
 * removed since, or a file of the build. Takes 4 ms.
 */
export function findBuild(root) {
  try {
    const record = JSON.parse(readFileSync(recordOf(root), 'utf8'));
    const isWhole = isSame(root, record.sources) && isSame(join(root, 'dist'), record.output);
    return isWhole ? record : undefined;
  } catch {
    return undefined;
  }
}

/** What the build is made of, by paths; folders too, as they change with what is added and removed. */
export function sourcesOf(root) {
  // The programs of agents and of ollama-mcp are not in dist/, but made with it (scripts/prepare.mjs).
  const programs = ['agent', 'ollama-mcp'].map(name => join('images', name, 'source'));
  const inside = ['hub', ...programs].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true }).map(file => join(folder, file)),
  );
  return [...others, ...inside.filter(file => !file.endsWith('.md'))];
}

/** When files were changed last. Not when their content was: that time is copied with them, and set by anybody. */
export function timesOf(folder, files) {
  return Object.fromEntries(files.map(file => [file, changedAt(folder, file)]));
}

function isSame(folder, times) {
  return Object.entries(times).every(([file, time]) => changedAt(folder, file) === time);
}

function changedAt(folder, file) {
  return statSync(`${folder}/${file}`).ctimeMs;
}
