import { credential, isSecretFileName, isSecretFolderName } from '#core';
import type { Exclusion } from '../outline/outline-types.ts';

/** Matches further names of files that may contain secrets and are not necessary for the documentation. */
const moreSecretNames =
  /^(?:\.env\.defaults?|.*\.(?:pem|asc|gpg)|(?:credentials?|secrets?|service[-_]?account)[\w.-]*\.(?:json|ya?ml|toml|ini|txt))$/i;
/** Matches examples and templates of such files, which are read. */
const exampleNames = /(?:example|sample|template|dist)$|\.pub$/i;

/** Matches folders and files that are generated or come from elsewhere. */
const generated =
  /(?:^|\/)(?:node_modules|vendor|third_party|bower_components|\.yarn|dist|build|out|__pycache__)\/|\.min\.(?:js|css)$|\.(?:map|snap|lock|pb\.go|g\.dart)$|(?:^|\/)(?:package-lock\.json|pnpm-lock\.yaml|yarn\.lock|go\.sum|Cargo\.lock)$|_pb2(?:_grpc)?\.py$/;

/** Returns the reason if a file is excluded by its name; undefined if not. */
export function excludedByName(path: string): Exclusion | undefined {
  const [name = '', ...folders] = path.split('/').toReversed();
  const isSecret = isSecretFileName(name) || moreSecretNames.test(name);
  if (folders.some(isSecretFolderName) || (isSecret && !exampleNames.test(name)))
    return { path, reason: 'secret', what: 'its name' };
  if (generated.test(path)) return { path, reason: 'generated' };
  return undefined;
}

/** Matches the start of a PEM private key without its content, as in code and prose. */
const keyWithoutContent = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?![^]{0,300}?[A-Za-z0-9+/=]{40})/g;

/**
 * True for example keys in manuals and tests, such as AKIAIOSFODNN7EXAMPLE of AWS, and for words such as the CSS class
 * `sk-chase-dot`. Random keys do not have such parts.
 */
const isExample = (found: string): boolean =>
  !found.startsWith('-----BEGIN') &&
  (/example|placeholder|redacted|0123456789|1234567890|abcdefgh|x{6}/i.test(found) ||
    /^sk(?:-[a-z]{1,12}){2,5}$/.test(found));

/** Returns the reason if a file is excluded by its content; undefined if not. Such a file is excluded completely. */
export function excludedByContent(path: string, text: string): Exclusion | undefined {
  // Replaced by spaces of the same length, so that the positions remain correct.
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
