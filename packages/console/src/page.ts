// Made by scripts/console-assets.js from browser/page.html, without its empty lines.

/** The page, with places for its title and the names of the CSRF cookie and header. */
export const CONSOLE_PAGE: string = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width" />
    <meta name="color-scheme" content="light dark" />
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="style.css" />
    <script type="module" src="script.js"></script>
    <title>{{title}}</title>
  </head>
  <body data-csrf-cookie="{{csrfCookie}}" data-csrf-header="{{csrfHeader}}" data-live="{{live}}">
    <a class="skip" href="#main">Skip to the content</a>
    <header>
      <h1>{{title}}</h1>
      <p id="who"></p>
    </header>
    <main id="main" tabindex="-1">
      <noscript><p class="notice bad">This page needs JavaScript.</p></noscript>
      <p id="result" class="notice" role="status" aria-live="polite"></p>
      <section aria-labelledby="health-title">
        <h2 id="health-title">Health</h2>
        <dl id="health" class="facts"></dl>
        <p id="health-error" class="notice bad" role="alert" hidden></p>
      </section>
      <section aria-labelledby="sessions-title">
        <h2 id="sessions-title">Sessions of a user</h2>
        <form id="find" class="line">
          <label for="user">User id</label>
          <input id="user" name="user" required autocomplete="off" autocapitalize="off" spellcheck="false" />
          <button>Show sessions</button>
        </form>
        <div id="found" hidden>
          <div class="bar">
            <p id="found-text" role="status" tabindex="-1"></p>
            <button id="revoke-user" class="danger" type="button">Revoke user…</button>
          </div>
          <table id="sessions" role="table" aria-describedby="found-text">
            <thead>
              <tr role="row">
                <th scope="col" role="columnheader">Session</th>
                <th scope="col" role="columnheader">Started</th>
                <th scope="col" role="columnheader">Last used</th>
                <th scope="col" role="columnheader">Ends</th>
                <th scope="col" role="columnheader">Address</th>
                <th scope="col" role="columnheader">Device</th>
                <th scope="col" role="columnheader"><span class="hidden">Action</span></th>
              </tr>
            </thead>
            <tbody></tbody>
          </table>
          <button id="more" type="button" hidden>Show more</button>
        </div>
      </section>
      <section aria-labelledby="revoke-title">
        <h2 id="revoke-title">Revoke by id</h2>
        <form id="revoke" class="line">
          <label for="kind">What</label>
          <select id="kind" name="kind">
            <option value="user">User</option>
            <option value="session">Session</option>
            <option value="key">Key</option>
            <option value="all">Everything</option>
          </select>
          <label for="id">Id</label>
          <input id="id" name="id" required autocomplete="off" autocapitalize="off" spellcheck="false" />
          <button class="danger">Revoke…</button>
        </form>
      </section>
      <section aria-labelledby="live-title">
        <h2 id="live-title">Live revocations</h2>
        <p id="live-state" class="quiet">Connecting.</p>
        <ol id="live" role="log" aria-labelledby="live-title" tabindex="0"></ol>
      </section>
    </main>
    <dialog id="confirm" aria-labelledby="confirm-title" aria-describedby="confirm-text">
      <form id="confirm-form">
        <h2 id="confirm-title"></h2>
        <p id="confirm-text"></p>
        <p id="confirm-warning" class="notice bad" hidden></p>
        <label for="reason">Reason, for the audit log</label>
        <textarea
          id="reason"
          required
          maxlength="500"
          rows="3"
          placeholder="Ticket 4711: laptop stolen"
        ></textarea>
        <div id="typed-part">
          <label for="typed">Type <code id="expected"></code> to confirm</label>
          <input id="typed" autocomplete="off" autocapitalize="off" spellcheck="false" />
        </div>
        <p id="confirm-error" class="notice bad" role="alert" hidden></p>
        <div class="bar end">
          <button id="cancel" type="button">Cancel</button>
          <button id="confirm-button" class="danger">Revoke</button>
        </div>
      </form>
    </dialog>
  </body>
</html>
`
