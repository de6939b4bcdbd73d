/** A prompt, split into the request and the text that it is about. */
export type Parts = {
  /** The request, in plain typography. */
  readonly head: string;
  /** The text after the first colon or line end. Only blanks are normalized. */
  readonly payload: string;
};

/** Matches code, where blanks matter. */
const code = /```|^(?:\t| {2,})\S|[{};][ \t]*$/m;

/** Splits a prompt at the end of the request. */
export function partsOf(text: string): Parts {
  const whole = text.normalize('NFC').replaceAll(/\r\n?/g, '\n').replace(/^\s+/, '').trimEnd();
  const asked = /^(?:i have a )?(?:quick|short|small) question\s*:\s*/i.exec(whole)?.[0] ?? '';
  const rest = whole.slice(asked.length);
  const at = rest.search(/:(?=\s)|\n|```/);
  const head = at < 0 ? rest : rest.slice(0, at);
  const payload = at < 0 ? '' : rest.slice(at).replace(/^[:\s]+(?=\S)/, '');
  return {
    head: plain(head),
    payload: /^[:\s]*$/.test(payload) ? '' : collapsed(payload, rest.slice(at)),
  };
}

/** Collapses blanks, unless the text looks like code. */
function collapsed(payload: string, asWritten: string): string {
  return code.test(asWritten) ? asWritten : payload.replaceAll(/\s+/g, ' ').trim();
}

/** Replaces typographic characters by those of a keyboard, and collapses blanks. */
function plain(text: string): string {
  return text
    .normalize('NFC')
    .replaceAll(/[\u200b\u2060\ufeff\u00ad]/g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[\u2018\u2019\u02bc]/g, "'")
    .replaceAll(/\u00ab ?| ?\u00bb|[\u201c\u201d\u201e]/g, '"')
    .replaceAll(/[\u2010\u2011]/g, '-')
    .replaceAll(/ ?[\u2013\u2014] ?/g, ' - ')
    .replaceAll('\u2026', '...')
    .replaceAll(/[\u2192\u27f6]/g, '->')
    .trim();
}
