// A button that copies a link. A browser allows access to the clipboard only over HTTPS or on localhost; elsewhere an
// older command is tried, and if it fails, the button's label says how to copy the link by hand.

const RESULT_SHOWN_MS = 2000;

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
    button.textContent = (await copyToClipboard(data.link)) ? "Copied" : "Select the link and press Ctrl+C";
    clearTimeout(timer);
    timer = setTimeout(() => (button.textContent = "Copy link"), RESULT_SHOWN_MS);
  };
  parentElement.append(button);
  return () => {
    clearTimeout(timer);
    button.remove();
  };
}

/**
 * @param {string} link
 * @returns {Promise<boolean>} whether the link was copied
 */
async function copyToClipboard(link) {
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
