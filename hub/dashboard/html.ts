const markup = Symbol('markup');

/** Markup that is safe to send: only `html` makes it, and whatever was put into it is escaped. */
export type Html = { readonly [markup]: string };

/** What may be put into markup: text, which is escaped, markup, or nothing. */
export type Content = Html | string | number | undefined | false | readonly Content[];

/**
 * Joins markup as it is written with values, each of which is escaped. A value in a tag stands in double
 * quotes: there is no other way to put one there (tests/dashboard/html.test.ts).
 */
export function html(written: readonly string[], ...values: readonly Content[]): Html {
  let text = '';
  for (const [index, piece] of written.entries()) {
    text += piece;
    if (index < values.length) text += escaped(values[index]);
  }
  return { [markup]: text };
}

/** What is sent. */
export const textOf = (page: Html): string => page[markup];

function escaped(content: Content): string {
  if (content === undefined || content === false) return '';
  if (typeof content === 'string') return escapeText(content);
  if (typeof content === 'number') return String(content);
  if (isMarkup(content)) return content[markup];
  let text = '';
  for (const one of content) text += escaped(one);
  return text;
}

const isMarkup = (content: Html | readonly Content[]): content is Html => markup in content;

const references: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escapeText = (text: string) => text.replace(/[&<>"']/g, found => references[found] ?? '');
