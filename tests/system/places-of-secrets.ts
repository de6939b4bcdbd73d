import { execFileSync } from 'node:child_process';
import { docker } from '../runtimes/docker/hub.ts';

/** Forms in which a value could be written: as it is, and as base64 from any byte on, in URLs, JSON, hex or octal. */
function formsOf(value: string): readonly (readonly [form: string, bytes: Buffer])[] {
  const bytes = Buffer.from(value);
  // Of base64 the first and last characters depend on what is around the value.
  const base64 = [0, 1, 2].map(lead => {
    const text = Buffer.concat([Buffer.alloc(lead), bytes]).toString('base64');
    return ['base64', Buffer.from(text.slice(lead === 0 ? 0 : 4, -4))] as const;
  });
  const octal = Array.from(bytes, byte => `\\0${byte.toString(8).padStart(3, '0')}`).join('');
  const all = [
    ['plain', bytes],
    ['trimmed', Buffer.from(value.trim())],
    ...base64,
    ...base64.map(
      ([, text]) =>
        [
          'base64url',
          Buffer.from(text.toString().replaceAll('+', '-').replaceAll('/', '_')),
        ] as const,
    ),
    ['URL', Buffer.from(encodeURIComponent(value))],
    ['form', Buffer.from(new URLSearchParams({ v: value }).toString().slice(2))],
    ['JSON', Buffer.from(JSON.stringify(value).slice(1, -1))],
    ['hex', Buffer.from(bytes.toString('hex'))],
    ['octal', Buffer.from(octal)],
  ] as const;
  return all.filter(([, form]) => form.length >= 8);
}

/** Where a text or a file shows a secret in any form, as `place: name (form)`. */
export function shownIn(
  place: string,
  content: Buffer | string,
  secrets: Readonly<Record<string, string>>,
): readonly string[] {
  const bytes = Buffer.from(content);
  return Object.entries(secrets).flatMap(([name, value]) =>
    formsOf(value)
      .filter(([, form]) => bytes.includes(form))
      .map(([form]) => `${place}: ${name} (${form})`),
  );
}

const run = (...args: readonly string[]) =>
  execFileSync('docker', args, { maxBuffer: 2 ** 30, stdio: ['ignore', 'pipe', 'pipe'] });

/** Where the engine shows secrets of a running container: what it stores, its log, its processes and all of its files. */
export async function placesOf(
  secrets: Readonly<Record<string, string>>,
  containerId: string,
): Promise<readonly string[]> {
  const { Image, Config, LogPath } = await docker.getContainer(containerId).inspect();
  return Object.entries({
    inspect: run('inspect', containerId),
    image: run('image', 'inspect', Image),
    history: run('history', '--no-trunc', Config.Image),
    logs: Buffer.concat([run('logs', containerId), Buffer.from(LogPath)]),
    top: run('top', containerId, '-eo', 'pid,args'),
    changes: run('diff', containerId),
    files: run('export', containerId),
  }).flatMap(([place, content]) => shownIn(place, content, secrets));
}
