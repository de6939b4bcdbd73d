import { isObject, mentionsSecret } from '#core';
import { redactText } from '#telemetry';
import type { InstallEntry } from './request.ts';

/** Matches references such as `${NAME}` and `${secret:NAME}`. A reference with a default also contains plain text. */
const reference = /\$\{[^{}]*\}/g;

/** Returns the paths of plain-text secrets, such as `env.API_KEY`. `known`: secrets marked by the publisher. Pure. */
export function findInClear(entry: InstallEntry, known: ReadonlySet<string>): readonly string[] {
  const found: string[] = [];
  const look = (path: string, name: string, value: unknown) => {
    if (typeof value !== 'string' || value === '') return;
    const isSecret = known.has(path) || mentionsSecret(name);
    const references = value.match(reference) ?? [];
    const rest = value.replaceAll(reference, '');
    const isNamed = references.length > 0 && !references.some(one => one.includes(':-'));
    if (redactText(rest) !== rest || (isSecret && !isNamed)) found.push(path);
  };
  for (const part of ['env', 'headers']) {
    const group = entry[part];
    if (isObject(group))
      for (const [name, value] of Object.entries(group)) look(`${part}.${name}`, name, value);
  }
  const args = Array.isArray(entry['args']) ? entry['args'] : [];
  for (const [index, arg] of args.entries()) {
    const [, option, value] = /^(-[^=]*)=(.*)$/s.exec(String(arg)) ?? [];
    const before = String(args[index - 1] ?? '');
    const name = option ?? (before.startsWith('-') && !before.includes('=') ? before : '');
    if (option !== undefined || !String(arg).startsWith('-'))
      look(`args[${index}]`, name, value ?? arg);
  }
  const url = typeof entry['url'] === 'string' ? URL.parse(entry['url']) : null;
  for (const [name, value] of url?.searchParams ?? []) look('url', name, value);
  return [...new Set(found)];
}
