"""Checks that docs/demo.svg shows its last frame, and only that, in a viewer that reads no CSS.

usage: still_picture.py PICTURE
"""
import sys
import xml.etree.ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"

root = ET.parse(sys.argv[1]).getroot()
frames = root.findall(f"{SVG}g")
visible = [frame.get("id") for frame in frames if frame.get("visibility") != "hidden"]
if len(frames) < 2 or visible != [frames[-1].get("id")]:
    sys.exit(f"{sys.argv[1]}: {len(frames)} frames, visible without CSS: {visible}; only the last one may be")
text = "".join(frames[-1].itertext())
if "server saw the last close" not in text:
    sys.exit(f"{sys.argv[1]}: the last frame does not show the table of what the server saw")
if root.get("{http://www.w3.org/XML/1998/namespace}space") != "preserve" or not root.get("font-family"):
    sys.exit(f"{sys.argv[1]}: without CSS the columns of the table do not stand under each other")
style = root.find(f"{SVG}style")
if "prefers-reduced-motion: reduce" not in (style.text or ""):
    sys.exit(f"{sys.argv[1]}: the animation does not stop for those who ask for reduced motion")
