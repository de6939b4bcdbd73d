// Keeps a page up to date: the hub tells over one stream which part of it has changed, and htmx asks
// for that part again. Without the stream the parts ask every ten seconds by themselves.
(() => {
  const events = 'health stats activity server offers log sessions caches install'.split(' ');
  /** What each part of the page said last: what says the same is left as it is, with focus and selection. */
  const said = new Map();
  /** After a refusal the browser does not try again by itself. */
  const againMs = 10_000;
  let stream;
  let again;

  function live(text) {
    const place = document.getElementById('live');
    if (!place || place.textContent === text) return;
    place.textContent = text;
    place.dataset.is = text === 'Live' ? 'live' : 'lost';
  }

  /** Has every part of the page ask for itself. */
  function ask() {
    for (const name of events) window.htmx.trigger(document.body, name);
  }

  /** Nobody answers: what the page says is out of date, until a part of it is answered again. */
  function lose(text) {
    live(text);
    document.body.dataset.is = 'lost';
  }

  function open() {
    clearTimeout(again);
    const { events: address } = document.body.dataset;
    if (!address || stream || document.hidden) return;
    stream = new EventSource(address);
    let isLost = false;
    stream.addEventListener('open', () => {
      live('Live');
      if (isLost) ask();
      isLost = false;
    });
    stream.addEventListener('error', () => {
      live('Not connected');
      // Whether the hub is there is told by its answer: it may have too many streams.
      if (!isLost) ask();
      isLost = true;
      if (stream?.readyState !== EventSource.CLOSED) return;
      stream = undefined;
      again = setTimeout(open, againMs);
    });
    for (const name of events)
      stream.addEventListener(name, () => window.htmx.trigger(document.body, name));
  }

  function close() {
    clearTimeout(again);
    stream?.close();
    stream = undefined;
  }

  /** Moments in the reader's own time and language. */
  function showTimes() {
    for (const time of document.querySelectorAll('time[data-show]:not([title])')) {
      const at = new Date(time.dateTime);
      time.textContent =
        time.dataset.show === 'time' ? at.toLocaleTimeString() : at.toLocaleString();
      time.title = at.toLocaleString();
    }
  }

  /** A log shows its end, unless somebody reads further up. */
  let isAtEnd = true;
  let readAt = 0;
  const findLog = () => document.querySelector('[data-tail]');
  function showEnd() {
    const log = findLog();
    if (log) log.scrollTop = isAtEnd ? log.scrollHeight : readAt;
  }

  // A button that is replaced between press and release would not be clicked: the next telling is soon.
  let isPressed = false;
  document.addEventListener('pointerdown', ({ target }) => {
    isPressed = target.closest('a, button') !== null;
  });
  for (const name of ['pointerup', 'pointercancel'])
    document.addEventListener(name, () => (isPressed = false));

  // Nobody looks at a tab in the background: it asks for nothing, and holds no connection.
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) return close();
    open();
    ask();
  });
  document.addEventListener('htmx:beforeRequest', event => {
    const { verb } = event.detail.requestConfig;
    if (document.hidden && verb === 'get') event.preventDefault();
  });
  document.addEventListener('htmx:beforeSwap', event => {
    const { detail } = event;
    const isOurs = detail.xhr.getResponseHeader('HX-Retarget') !== null;
    if (detail.isError && !isOurs) {
      detail.shouldSwap = false;
      lose('Not up to date');
      return;
    }
    delete document.body.dataset.is;
    const log = findLog();
    if (log) {
      readAt = log.scrollTop;
      isAtEnd = log.scrollHeight - readAt - log.clientHeight < 8;
    }
    if (detail.requestConfig.verb !== 'get') return;
    if (isPressed) {
      detail.shouldSwap = false;
      return;
    }
    const { id } = detail.target;
    if (said.get(id) === detail.serverResponse) detail.shouldSwap = false;
    said.set(id, detail.serverResponse);
  });
  document.addEventListener('htmx:sendError', () => lose('Not connected'));
  // Before it is painted: nobody sees it change.
  const show = () => {
    showTimes();
    showEnd();
  };
  document.addEventListener('htmx:afterSwap', show);
  document.addEventListener('DOMContentLoaded', () => {
    show();
    open();
  });
  window.addEventListener('pagehide', close);
  window.addEventListener('pageshow', event => {
    if (event.persisted) open();
  });
})();
