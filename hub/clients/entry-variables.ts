import { variablesIn } from '#config';
import { type Json, type JsonObject, stringsIn } from '#core';

/** Returns the names of all variables in a value. */
export const variablesOf = (value: Json): readonly string[] =>
  stringsIn(value).flatMap(variablesIn);

/** Returns the names of all variables and secrets in a value. */
export const usesOf = (value: Json): readonly string[] =>
  variablesOf(value).map(name => name.replace(/^secret:/, ''));

/** A literal dollar sign, or a reference to a variable or secret: `NAME` or `secret:NAME` in braces. */
const pattern = /\$\$|\$\{((?:secret:)?\w+)\}/g;

/** Changes the references to variables and secrets in all strings of an entry. */
export function changeVariables(
  entry: JsonObject,
  change: (name: string, reference: string) => string,
): JsonObject {
  const changed = (text: string, name: string | undefined) =>
    name === undefined ? text : change(name, text);
  return JSON.parse(JSON.stringify(entry), (_key, value: unknown) =>
    typeof value === 'string' ? value.replaceAll(pattern, changed) : value,
  );
}

/** Escapes dollar signs, so that the hub finds no variable in the text: `$$` is a literal dollar sign. */
export const escapeDollars = (text: string): string => text.replaceAll(/\$(?=[${])/g, () => '$$');
