import type { z } from 'zod';
import type { Problem } from './problem.ts';
import { knownKeys } from './schema.ts';
import type { Path } from './source-map.ts';
import { findClosest } from './suggest.ts';

type Issue = z.core.$ZodIssue;

/**
 * Converts zod issues to sentences that tell users what to write. `base` is the path of the validated value; `keysAt`
 * returns the known keys of the object at a path.
 */
export function problemsOf(
  issues: readonly Issue[],
  base: Path,
  keysAt: (path: Path) => readonly string[] = knownKeys,
): readonly Problem[] {
  return issues.flatMap((issue): readonly Problem[] => {
    const path = [...base, ...pathOf(issue)];
    switch (issue.code) {
      case 'unrecognized_keys':
        return issue.keys.map(key => ({
          path: [...path, key],
          text: unknownKey(key, keysAt(path)),
        }));
      case 'invalid_union':
        return unionProblems(issue, path);
      case 'invalid_key':
        return [{ path, text: issue.issues[0]?.message ?? 'the name is not allowed' }];
      case 'invalid_type':
        return issue.input === undefined && issue.message.endsWith('received undefined')
          ? [{ path, text: `is missing: ${write(issue.expected)}` }]
          : [{ path, text: typeText(issue), showsValue: true }];
      default:
        return [{ path, text: allowed(issue), showsValue: true }];
    }
  });
}

/** Reports only the branch of a union whose own type matches the value. */
function unionProblems(issue: Issue & { readonly code: 'invalid_union' }, path: Path) {
  const meant = issue.errors.find(
    branch => !branch.some(({ code, path: at }) => code === 'invalid_type' && at.length === 0),
  );
  return meant ? problemsOf(meant, path) : [{ path, text: issue.message, showsValue: true }];
}

function unknownKey(key: string, keys: readonly string[]): string {
  const closest = findClosest(key, keys);
  return closest === undefined
    ? `unknown key. Remove it; allowed keys are ${keys.join(', ')}`
    : `unknown key. Did you mean ${JSON.stringify(closest)}?`;
}

const written = new Map([
  ['string', 'write a string, in quotes'],
  ['boolean', 'write true or false'],
  ['int', 'write a whole number, without quotes'],
  ['number', 'write a number, without quotes'],
  ['array', 'write a list: [...]'],
  ['object', 'write an object: {...}'],
  ['record', 'write an object: {...}'],
]);

const write = (expected: string) => written.get(expected) ?? `write a value of type ${expected}`;

/** Without a message in the schema, zod reports the received type, which the problem shows anyway. */
const typeText = ({ message, expected }: Issue & { readonly code: 'invalid_type' }) =>
  message.startsWith('Invalid input') ? write(expected) : message;

function allowed(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_value':
      return `write ${issue.values.map(value => JSON.stringify(value)).join(' or ')}`;
    case 'too_small':
      return issue.origin === 'string'
        ? 'write at least one character'
        : `write a number of at least ${issue.minimum}`;
    case 'too_big':
      return `write a number of at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

const pathOf = (issue: Issue): Path =>
  issue.path.map(part => (typeof part === 'symbol' ? String(part) : part));
