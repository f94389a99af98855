// Made by scripts/console-assets.js from browser/style.css, without its empty lines.

/** The style sheet of the page. */
export const CONSOLE_STYLE: string = `:root { color-scheme: light dark; --page: #f6f7f9; --panel: #ffffff; --text: #1b1f24; --quiet: #57606a; --line: #d0d7de; --field-line: #7d858e; --link: #0757ba; --good: #116329; --bad: #a40e26; --bad-panel: #ffebe9; --button: #eef1f4; --danger: #b3152d; --danger-text: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --page: #0f1318; --panel: #181d24; --text: #e6eaef; --quiet: #a3adb8; --line: #323a44; --field-line: #7a8591; --link: #79b8ff; --good: #63d883; --bad: #ff9b93; --bad-panel: #3a1518; --button: #262d36; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem 1.25rem 3rem; background: var(--page); color: var(--text); font:
    1rem/1.5 system-ui,
    sans-serif; }
header { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 0 1rem; }
h1 { margin: 0.25rem 0; font-size: 1.5rem; }
h2 { margin: 0 0 0.75rem; font-size: 1.125rem; }
header p,
.quiet { margin: 0 0 0.5rem; color: var(--quiet); }
section { margin-top: 1rem; padding: 1rem 1.25rem; border: 1px solid var(--line); border-radius: 0.5rem; background: var(--panel); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.skip { position: absolute; left: -100rem; color: var(--link); }
.skip:focus { left: 1rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
[hidden] { display: none !important; }
.line,
.bar { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5rem 0.75rem; }
.bar { justify-content: space-between; margin-top: 1rem; }
.end { justify-content: flex-end; }
label { font-weight: 600; }
input,
select,
textarea,
button { min-height: 2.5rem; padding: 0.375rem 0.75rem; border: 1px solid var(--field-line); border-radius: 0.375rem; background: var(--panel); color: var(--text); font: inherit; }
.line input { flex: 1 1 14rem; min-width: 0; }
button { background: var(--button); font-weight: 600; cursor: pointer; }
button:hover { border-color: var(--text); }
.danger { border-color: var(--danger); background: var(--danger); color: var(--danger-text); }
input:disabled,
button:disabled { border-color: var(--line); background: var(--page); color: var(--quiet); cursor: default; }
::placeholder { color: var(--quiet); opacity: 1; }
.notice { margin: 0.75rem 0 0; padding: 0.625rem 0.875rem; border-left: 4px solid var(--good); }
.notice:empty { display: none; }
.bad { border-color: var(--bad); background: var(--bad-panel); color: var(--bad); }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: 0.75rem 1.5rem; margin: 0; }
dt { color: var(--quiet); font-size: 0.875rem; }
dd { margin: 0; font-weight: 600; }
dd.up { color: var(--good); }
dd.down { color: var(--bad); }
code,
.id { font-family: ui-monospace, monospace; font-size: 0.875em; }
td,
dd,
li,
code,
p { overflow-wrap: break-word; unicode-bidi: isolate; }
/* What is long and without spaces may break anywhere, and makes no column wider. */
.value { padding: 0 0.25rem; border: 1px solid var(--line); border-radius: 0.25rem; background: var(--page); overflow-wrap: anywhere; white-space: pre-wrap; }
.value::before { content: '“'; }
.value::after { content: '”'; }
.plain { min-height: 1.5rem; padding: 0; border: 0; background: none; color: inherit; font-weight: inherit; overflow-wrap: anywhere; text-align: left; text-decoration: underline dotted; white-space: normal; }
.plain + bdi { display: block; color: var(--quiet); font-size: 0.8125rem; }
.long { overflow-wrap: anywhere; }
table { width: 100%; margin: 0.75rem 0; border-collapse: collapse; }
th,
td { padding: 0.5rem 0.75rem 0.5rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { color: var(--quiet); font-size: 0.875rem; }
td { font-size: 0.9375rem; }
/* A phone has no room for that. */
@media (min-width: 48rem) {
  td time,
  button:not(.plain) { white-space: nowrap; }
}
#live { max-height: 24rem; margin: 0; padding: 0; overflow-y: auto; list-style: none; }
#live p,
.bar p { margin: 0; }
#live li { padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
#live time { margin-right: 0.75rem; color: var(--quiet); }
dialog { width: min(34rem, calc(100vw - 2rem)); padding: 1.25rem; border: 1px solid var(--field-line); border-radius: 0.5rem; background: var(--panel); color: var(--text); }
dialog::backdrop { background: rgb(0 0 0 / 55%); }
dialog :is(label, input, textarea) { display: block; width: 100%; margin-top: 0.25rem; }
dialog label { margin-top: 0.75rem; }
/* A row becomes a card: seven columns do not fit on a phone. */
@media (max-width: 48rem) {
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tr { display: block; padding: 0.75rem 0; border-bottom: 1px solid var(--line); }
  td { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); padding: 0.125rem 0; border: 0; }
  td::before { color: var(--quiet); content: attr(data-label); }
  .line { align-items: stretch; flex-direction: column; }
  .line input { flex: none; }
}
`
