/** Pattern of the name of a client in the rules for prompts. */
export const clientNamePattern = /^[a-z0-9](?:[\w .@/+-]{0,62}[\w.@/+-])?$/i;
export const clientNameRule =
  'the name of a client has 1 to 64 letters, digits, spaces and "_.@/+-", and starts with a letter or digit';
