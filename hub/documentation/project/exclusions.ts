import { posix } from 'node:path';
import { credential } from '#core';
import type { Exclusion } from '../outline/outline-types.ts';

/** Names of files that hold secrets. Examples and templates of them are read. */
const secretNames =
  /^(?:\.env(?:\..+)?|\.npmrc|\.pypirc|\.netrc|_netrc|\.pgpass|\.htpasswd|\.git-credentials|\.dockercfg|id_(?:rsa|dsa|ecdsa|ed25519)|.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg|ovpn|tfstate)|(?:credentials?|secrets?|service[-_]?account)[\w.-]*\.(?:json|ya?ml|toml|ini|txt))$/i;
const exampleNames =
  /(?:example|sample|template|dist)$|^\.env\.(?:example|sample|template)|\.pub$/i;
const secretFolders = /(?:^|\/)(?:\.ssh|\.aws|\.gnupg|\.kube)\//;

/** Folders and files that people did not write here. */
const generated =
  /(?:^|\/)(?:node_modules|vendor|third_party|bower_components|\.yarn|dist|build|out|__pycache__)\/|\.min\.(?:js|css)$|\.(?:map|snap|lock|pb\.go|g\.dart)$|(?:^|\/)(?:package-lock\.json|pnpm-lock\.yaml|yarn\.lock|go\.sum|Cargo\.lock)$|_pb2(?:_grpc)?\.py$/;

/** Decides by its name whether a file stays out. */
export function excludedByName(path: string): Exclusion | undefined {
  const name = posix.basename(path);
  if (secretFolders.test(path) || (secretNames.test(name) && !exampleNames.test(name)))
    return { path, reason: 'secret', what: 'its name' };
  if (generated.test(path)) return { path, reason: 'generated' };
  return undefined;
}

/** Decides by its content whether a file stays out. Such a file is left out as a whole: no part of it is quoted. */
export function excludedByContent(path: string, text: string): Exclusion | undefined {
  const at = text.search(credential);
  if (at >= 0)
    return { path, reason: 'secret', what: `line ${text.slice(0, at).split('\n').length}` };
  if (
    /^(?:\/\/|#|\/\*|<!--|--)?\s*(?:Code generated .* DO NOT EDIT|@generated\b)/m.test(
      text.slice(0, 2_000),
    )
  )
    return { path, reason: 'generated' };
  return undefined;
}
