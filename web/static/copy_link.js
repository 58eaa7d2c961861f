// A button that copies a link. The clipboard is a browser's only over https and on this machine: elsewhere the link is
// selected, and the button says with which keys it is copied.

const SAID_MS = 2000;

/** @param {ComponentArgs<{ link: string }>} component */
export default function ({ data, parentElement }) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "pw-copy";
  button.textContent = "Copy link";
  button.setAttribute("aria-live", "polite");
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  button.onclick = async () => {
    button.textContent = (await copied(data.link)) ? "Copied" : "Select the link and press Ctrl+C";
    clearTimeout(timer);
    timer = setTimeout(() => (button.textContent = "Copy link"), SAID_MS);
  };
  parentElement.append(button);
  return () => {
    clearTimeout(timer);
    button.remove();
  };
}

/**
 * @param {string} link
 * @returns {Promise<boolean>}
 */
async function copied(link) {
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(link).then(() => true, () => false);
  }
  const field = document.createElement("textarea");
  field.value = link;
  field.setAttribute("readonly", "");
  field.style.position = "fixed";
  field.style.opacity = "0";
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  return isCopied;
}
