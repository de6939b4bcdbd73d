import { execFileSync } from 'node:child_process';
import { docker } from '../runtimes/docker/hub.ts';

type Forms = readonly (readonly [form: string, bytes: Buffer])[];

/** Cache of forms by value. Long values take a while to convert, and each is searched in a hundred places. */
const knownForms = new Map<string, Forms>();

function formsOf(value: string): Forms {
  const forms = knownForms.get(value) ?? makeForms(value);
  knownForms.set(value, forms);
  return forms;
}

/** Returns forms in which a value could be written: plain, in base64 at any offset, in URLs, JSON, hex or octal. */
function makeForms(value: string): Forms {
  const bytes = Buffer.from(value);
  // The first and last base64 characters depend on the bytes around the value.
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
  // Most values are equal in several forms, and each search of a whole image takes a while.
  const distinct = new Map(
    all
      .toReversed()
      .map(([form, written]) => [written.toString('latin1'), [form, written]] as const),
  );
  return [...distinct.values()].filter(([, written]) => written.length >= 8);
}

/** Finds secrets in a text or a file, in any form. Returns them as `place: name (form)`. */
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

/** Time at which this module was loaded, before any test creates its secrets. */
const loadedAt = Date.now();

/** Finds secrets in what the engine has of a running container: its config, image, log, processes and files. */
export async function placesOf(
  secrets: Readonly<Record<string, string>>,
  containerId: string,
): Promise<readonly string[]> {
  const { Image, Config, LogPath } = await docker.getContainer(containerId).inspect();
  const { Created } = await docker.getImage(Image).inspect();
  const changes = run('diff', containerId);
  // An image that is older than the secrets contains none of them.
  const isImageOlder = Date.parse(Created) < loadedAt;
  return Object.entries({
    inspect: run('inspect', containerId),
    image: run('image', 'inspect', Image),
    history: run('history', '--no-trunc', Config.Image),
    logs: Buffer.concat([run('logs', containerId), Buffer.from(LogPath)]),
    top: run('top', containerId, '-eo', 'pid,args'),
    changes,
    files: isImageOlder ? changedFiles(containerId, changes) : run('export', containerId),
  }).flatMap(([place, content]) => shownIn(place, content, secrets));
}

/** Returns the archives of files that a container has changed, from the output of `docker diff`. */
function changedFiles(containerId: string, changes: Buffer): Buffer {
  const written = [...changes.toString().matchAll(/^[AC] (.+)$/gm)].map(([, path = '']) => path);
  // A folder is listed too if only its content has changed.
  const files = written.filter(path => !written.some(other => other.startsWith(`${path}/`)));
  return Buffer.concat(files.map(path => run('cp', `${containerId}:${path}`, '-')));
}
