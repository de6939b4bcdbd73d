import { isObject } from '#core';

/** Names under which a credential may stand. */
const secretName =
  /^(.*[_-])?(authorization|cookie|credentials?|env|headers|pass(word|phrase)?|secret|token|api[_-]?key)$/i;

const maxDepth = 6;

/** The same fields without the values that may be credentials. What is nested too deeply is left out. */
export function withoutSecrets(fields: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name, redacted(name, value, 1)]),
  );
}

function redacted(name: string, value: unknown, depth: number): unknown {
  if (secretName.test(name)) return '[redacted]';
  if (Array.isArray(value))
    return depth < maxDepth ? value.map(item => redacted('', item, depth + 1)) : '[too deep]';
  if (!isObject(value) || value instanceof Date) return value;
  if (depth >= maxDepth) return '[too deep]';
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, redacted(key, inner, depth + 1)]),
  );
}
