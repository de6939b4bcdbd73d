import { setImmediate } from 'node:timers/promises';
import { assignment, credential, introducedCredentials, isPlaceholder } from '#core';
import { pathInDiff } from './changes.ts';
import type { SecretFinding } from './repository-types.ts';

const maxFindings = 100;
/**
 * Maximum number of characters that are searched in a line: longer lines are minified code, which has no secrets of its
 * own.
 */
const maxLineLength = 20_000;

/** Number of characters that are searched without a pause, in about 20 ms. */
const sliceLength = 32 * 1_024;

/**
 * Searches the added lines of a unified diff for secrets. A finding never contains the value. Examples and placeholders
 * are not reported. Pauses regularly, so that other work of the hub continues.
 */
export async function findSecrets(diff: string): Promise<readonly SecretFinding[]> {
  const findings: SecretFinding[] = [];
  let path = '';
  let line = 0;
  let isHeader = true;
  let searched = 0;
  for (const text of diff.split('\n')) {
    if (findings.length >= maxFindings) break;
    searched += text.length;
    if (searched > sliceLength) {
      searched = 0;
      await setImmediate();
    }
    const hunk = /^@@ -\d+(?:,\d+)? \+(\d+)/.exec(text);
    if (text.startsWith('diff --git ')) isHeader = true;
    else if (isHeader && text.startsWith('+++ ')) path = pathInDiff(text);
    else if (hunk) {
      isHeader = false;
      line = Number(hunk[1]);
    } else if (!isHeader && text.startsWith('+')) {
      const what = secretIn(text.slice(1, maxLineLength));
      if (what !== undefined) findings.push({ path, line, what });
      line++;
    } else if (!isHeader && text.startsWith(' ')) line++;
  }
  return findings;
}

/** Returns a description of the secret in a line, if any. */
function secretIn(line: string): string | undefined {
  if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY|PuTTY-User-Key-File-\d/.test(line)) return 'a private key';
  if (line.search(credential) >= 0) return 'a credential of a service';
  if (introducedCredentials.some(each => line.search(each) >= 0))
    return 'a password or a token in a header, a URL or an option';
  for (const match of line.matchAll(assignment)) {
    const quoted = match[4];
    // Most values without quotes are expressions, so only random-looking ones count.
    if (quoted !== undefined ? isSecretValue(quoted) : isRandom(match[5] ?? ''))
      return `a value of ${nameIn(match[1] ?? '')}`;
  }
  for (const [word] of line.matchAll(/[A-Za-z0-9+/_=-]{40,200}/g))
    if (isRandom(word) && isMixed(word) && /["'\x60:=]\s*$/.test(line.slice(0, line.indexOf(word))))
      return 'a long random value';
  return undefined;
}

const nameIn = (start: string) => /[\w.-]+/.exec(start)?.[0].slice(0, 60) ?? 'a secret';

const isSecretValue = (value: string) =>
  value.length >= 8 && !isPlaceholder(value) && !/\s/.test(value.trim()) && !/[${}<>]/.test(value);

/**
 * True for random-looking text: at least 16 characters with a digit, and more than 3.2 bits of Shannon entropy per
 * character.
 */
function isRandom(value: string): boolean {
  if (value.length < 16 || !/\d/.test(value) || isPlaceholder(value) || /[(){}[\]$]/.test(value))
    return false;
  const counts = new Map<string, number>();
  for (const character of value) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values())
    bits -= (count / value.length) * Math.log2(count / value.length);
  return bits > 3.2;
}

/** True for text with small and capital letters. Hashes in hex have small letters only, and are not secrets. */
const isMixed = (value: string) => /[a-z]/.test(value) && /[A-Z]/.test(value);
