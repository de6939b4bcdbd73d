import { credential, isSecretFileName, isSecretFolderName } from '#core';
import type { Exclusion } from '../outline/outline-types.ts';

/** Names of more files that may hold secrets, and which documentation can do without. */
const moreSecretNames =
  /^(?:\.env\.defaults?|.*\.(?:pem|asc|gpg)|(?:credentials?|secrets?|service[-_]?account)[\w.-]*\.(?:json|ya?ml|toml|ini|txt))$/i;
/** Examples and templates of them are read. */
const exampleNames = /(?:example|sample|template|dist)$|\.pub$/i;

/** Folders and files that people did not write here. */
const generated =
  /(?:^|\/)(?:node_modules|vendor|third_party|bower_components|\.yarn|dist|build|out|__pycache__)\/|\.min\.(?:js|css)$|\.(?:map|snap|lock|pb\.go|g\.dart)$|(?:^|\/)(?:package-lock\.json|pnpm-lock\.yaml|yarn\.lock|go\.sum|Cargo\.lock)$|_pb2(?:_grpc)?\.py$/;

/** Decides by its name whether a file stays out. */
export function excludedByName(path: string): Exclusion | undefined {
  const [name = '', ...folders] = path.split('/').toReversed();
  const isSecret = isSecretFileName(name) || moreSecretNames.test(name);
  if (folders.some(isSecretFolderName) || (isSecret && !exampleNames.test(name)))
    return { path, reason: 'secret', what: 'its name' };
  if (generated.test(path)) return { path, reason: 'generated' };
  return undefined;
}

/** The start of a PEM file in code and in prose. */
const keyWithoutContent = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?![^]{0,300}?[A-Za-z0-9+/=]{40})/g;

/**
 * Keys that manuals and tests show, such as the AKIAIOSFODNN7EXAMPLE of AWS, and words such as the class `sk-chase-dot`. No
 * random key has such parts.
 */
const isExample = (found: string): boolean =>
  !found.startsWith('-----BEGIN') &&
  (/example|placeholder|redacted|0123456789|1234567890|abcdefgh|x{6}/i.test(found) ||
    /^sk(?:-[a-z]{1,12}){2,5}$/.test(found));

/** Decides by its content whether a file stays out. Such a file is left out as a whole: no part of it is quoted. */
export function excludedByContent(path: string, text: string): Exclusion | undefined {
  // What is left out keeps its length, so that lines are counted right.
  const shown = text.replaceAll(keyWithoutContent, start => ' '.repeat(start.length));
  for (const { 0: found, index } of shown.matchAll(credential))
    if (!isExample(found))
      return { path, reason: 'secret', what: `line ${text.slice(0, index).split('\n').length}` };
  if (
    /^(?:\/\/|#|\/\*|<!--|--)?\s*(?:Code generated .* DO NOT EDIT|@generated\b)/m.test(
      text.slice(0, 2_000),
    )
  )
    return { path, reason: 'generated' };
  return undefined;
}
