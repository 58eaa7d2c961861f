// What Pitwall's scripts take for granted of Streamlit's own page; its styles do so in streamlit_dom.css alone.
// tests/web/server/test_streamlit_dom.py tells which of these a new Streamlit has changed.

/** What Streamlit draws the page into; its index.html brings it. */
export const ROOT = "#root";
/** The same once the script of the page has run through to its end. */
export const SCRIPT_HAS_RUN = "#root [data-testid=stApp][data-test-script-state=notRunning]";
/** What has the colour scheme of the theme that Streamlit shows, and a class that changes with it. */
export const APP = "[data-testid=stApp]";
/** What holds everything that a page's script shows, below the navigation. */
export const PAGE = "[data-testid=stMainBlockContainer]";
/** In the place of a widget whose code has not come yet. */
export const PIECE_ON_ITS_WAY = "[data-testid=stSkeleton]";
/** Of a table that is drawn on a canvas: within it is the part in sight as a table for screen readers, and the keyboard's focus. */
export const CELL = "[data-testid=stDataFrame] canvas td";
/** What scrolls where a page is taller than its window. */
export const PAGE_SCROLLS = "[data-testid=stMain]";
/** What scrolls of a table that is taller than its place. */
export const TABLE_SCROLLS = "[data-testid=stDataFrame] .dvn-scroller";
/** A box of several lines; Ctrl+Enter in it has the page's script read it. */
export const TEXT_AREA = "[data-testid=stTextArea] textarea";
/** Streamlit's page while its server answers. */
export const CONNECTED = "#root [data-testid=stApp][data-test-connection-state=CONNECTED]";
/** What closes a dialog, such as Streamlit's own about a lost connection. */
export const DIALOG_CLOSES = "[data-testid=stDialog] [aria-label=Close]";
/** A link of the navigation where it is a drawer. */
export const DRAWER_LINK = "[data-testid=stSidebarNav] a";
/** What closes the drawer. */
export const DRAWER_CLOSES = "[data-testid=stSidebarCollapseButton] button";
/** What the keyboard moves of a slider. */
export const SLIDER = "[data-testid=stSlider] input[type=range]";
