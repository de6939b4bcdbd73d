import { isBuiltinName } from '#config';
import { HubError } from '#core';

/** Parsed source of an install, in the form of the key `package` or `url` of an entry. */
type Source =
  | { readonly kind: 'package' | 'image'; readonly package: string; readonly name: string }
  | { readonly kind: 'url'; readonly url: string; readonly name: string };

const maxName = 32;
const forms =
  'write "@org/server@1.2.3" or "npm:name" (npm), "uvx:name==1.0" or "pypi:name" (PyPI), "docker:image:tag" (an image) or "https://host/mcp" (a server that runs elsewhere)';

/** Parses a source and suggests a name. The entry's check validates the rest. Throws HUB_REQUEST_INVALID. */
export function parseSource(written: string): Source {
  const text = written.trim();
  if (/^https?:\/\//i.test(text)) {
    // References to variables are validated later, with the entry.
    const url = URL.parse(text.replaceAll(/\$\{[^{}]*\}/g, 'variable'));
    if (!url) throw unreadable(written);
    return { kind: 'url', url: text, name: nameOfHost(url.hostname) };
  }
  const [, scheme = '', rest = ''] = /^(?:(docker|uvx|pypi|npx|npm):)?(.*)$/s.exec(text) ?? [];
  if (rest === '' || /[\s\0]|^-|:\/\//.test(rest)) throw unreadable(written);
  switch (scheme) {
    case 'docker':
      return { kind: 'image', package: text, name: nameOfImage(rest) };
    case 'uvx':
    case 'pypi':
      return { kind: 'package', package: `uvx:${rest}`, name: nameOfPackage(rest) };
    default:
      // A path with slashes is not an npm package. Most likely an image is meant.
      if (!rest.startsWith('@') && rest.includes('/')) throw unreadable(written);
      return { kind: 'package', package: rest, name: nameOfPackage(rest) };
  }
}

/** Returns the server name for a registry name such as `io.github.someone/server-name`. */
export function nameOfRegistered(name: string): string {
  const slash = name.lastIndexOf('/');
  return telling(name.slice(slash + 1), name.slice(0, Math.max(0, slash)).split('.').at(-1));
}

function unreadable(written: string): HubError {
  return new HubError(
    'HUB_REQUEST_INVALID',
    `package: ${JSON.stringify(written.slice(0, 200))} is not allowed: ${forms}`,
  );
}

function nameOfPackage(spec: string): string {
  const [, scope, name = ''] = /^(?:@([^/]*)\/)?([^@=[<>~]*)/.exec(spec) ?? [];
  return telling(name, scope);
}

function nameOfImage(reference: string): string {
  const [last = '', above] = (reference.split('@')[0] ?? '').split('/').toReversed();
  // The host of a registry does not identify the maker of the image.
  const maker = above !== undefined && /[.:]/.test(above) ? undefined : above;
  return telling(last.split(':')[0] ?? '', maker);
}

/** True for a name that could be that of any MCP server. */
const isGeneral = (text: string) => /^(?:mcp|servers?)(?:[-_.](?:mcp|servers?))*$/i.test(text);

/** Names that servers of several makers have, once words such as `mcp` are removed. */
const shared = /^(?:api|app|cli|core|dev|local|remote|sdk|tools?)$/;

/** Shortens `@playwright/mcp` to `playwright`, and `@shopify/dev-mcp` to `shopify-dev`. */
function telling(name: string, maker: string | undefined): string {
  if (!maker) return bare(name);
  if (isGeneral(name)) return bare(maker);
  const short = bare(name);
  return shared.test(short) ? bare(`${bare(maker)}-${short}`) : short;
}

/** Shortens `mcp.example.com` to `example`, the part that identifies the owner. */
function nameOfHost(host: string): string {
  if (/^[\d.]+$|^\[/.test(host)) return 'remote';
  const parts = host.split('.');
  return bare(parts.at(-2) ?? parts[0] ?? '');
}

/** Removes words such as `mcp` and `server`, and characters that are not allowed in a server's name. */
function bare(text: string): string {
  const clean = text.toLowerCase().replaceAll(/[^a-z0-9_-]+/g, '-');
  const short = clean
    .replace(/^(?:(?:mcp|server)[-_])+/, '')
    .replace(/(?:[-_](?:mcp|server))+$/, '')
    .replaceAll(/^[-_]+|[-_]+$/g, '');
  return short.slice(0, maxName) || 'server';
}

/** Returns the name, or the name with the first number that makes it free; undefined if there is none. */
export function freeName(name: string, isTaken: (name: string) => boolean): string | undefined {
  for (let number = 1; number < 100; number += 1) {
    const suffix = number === 1 ? '' : `-${number}`;
    const tried = `${name.slice(0, maxName - suffix.length)}${suffix}`;
    if (!isBuiltinName(tried) && !isTaken(tried)) return tried;
  }
  return undefined;
}
