import type { Json, JsonObject } from '#core';

/** Returns an object without the members that are undefined, an empty list or an empty object. */
export const filled = (members: Readonly<Record<string, Json | undefined>>): JsonObject =>
  Object.fromEntries(
    Object.entries(members).flatMap(([key, value]) =>
      value === undefined || isEmpty(value) ? [] : [[key, value]],
    ),
  );

const isEmpty = (value: Json) =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;
