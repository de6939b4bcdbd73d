import { HubError } from '#core';
import { z } from 'zod';

/** The JSON Schema of a tool's arguments. */
export function describeArguments(schema: z.ZodType): object {
  const { $schema: _, ...described } = z.toJSONSchema(schema, { io: 'input' });
  return described;
}

/** Checks the arguments of a call. Throws HUB_REQUEST_INVALID, which names each field, its value and the remedy. */
export function parseArguments<Args>(schema: z.ZodType<Args>, given: unknown): Args {
  const parsed = schema.safeParse(given ?? {}, { reportInput: true });
  if (parsed.success) return parsed.data;
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const problems = parsed.error.issues.map(issue => describeIssue(issue, known));
  throw new HubError('HUB_REQUEST_INVALID', problems.join('; '));
}

function describeIssue(issue: z.core.$ZodIssue, known: readonly string[]): string {
  const field = issue.path.join('.') || 'arguments';
  if (issue.code === 'unrecognized_keys') {
    const [key] = issue.keys;
    const allowed = known.map(name => JSON.stringify(name));
    const remedy =
      allowed.length === 1
        ? `${allowed[0]} is the only one`
        : allowed.length === 0
          ? 'leave it out, as there are none'
          : `the arguments are ${allowed.join(' and ')}`;
    return `${key}: is no argument; ${remedy}`;
  }
  if (issue.code === 'invalid_type') {
    const remedy = `write ${remedies.get(issue.expected) ?? `a value of type ${issue.expected}`}`;
    return issue.input === undefined
      ? `${field}: is missing: ${remedy}`
      : `${field}: ${remedy}, not ${shortened(issue.input)}`;
  }
  if (issue.code === 'too_small')
    return `${field}: ${shortened(issue.input)} is too small: write ${issue.minimum} or more`;
  if (issue.code === 'too_big')
    return `${field}: ${shortened(issue.input)} is too large: write ${issue.maximum} or less`;
  return `${field}: ${issue.message}`;
}

const remedies: ReadonlyMap<string, string> = new Map([
  ['string', 'a string'],
  ['int', 'a whole number'],
  ['object', 'an object'],
]);

const maxShown = 60;

function shortened(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > maxShown ? `${text.slice(0, maxShown)}...` : text;
}
